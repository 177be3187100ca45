"""Box's own library; it only verifies."""

import box_sdk_gen.managers.webhooks as library


def verify(case):
    library.get_epoch_time_in_seconds = lambda: int(case.now)
    return library.WebhooksManager.validate_message(
        case.text, dict(case.headers), case.secret
    )
