"""Rules that relate resources, in the template of every fleet.

Much of it the local engine drops: nothing else would notice that it is gone.
"""

from __future__ import annotations

from tests.infra import rules
from tests.infra.conftest import AGENTS
from tests.infra.template import Template


def test_every_writer_can_write_to_its_failure_queue(template: Template) -> None:
    """The queue's permission and the key's: CDK grants the second to nobody."""
    assert len(list(rules.writers(template))) >= 5
    assert rules.unwritable_queues(template) == []


def test_no_role_may_do_everything_or_anything_to_everything(
    template: Template,
) -> None:
    assert rules.unlimited_grants(template) == []


def test_queues_and_bucket_refuse_plain_text(template: Template) -> None:
    assert rules.plain_text_doors(template) == []


def test_everything_at_rest_lies_under_the_fleets_key(template: Template) -> None:
    assert rules.under_another_key(template) == []
    assert template.only("KMS::Key").of("EnableKeyRotation") is True


def test_what_holds_state_outlives_the_stack(template: Template) -> None:
    assert rules.forgettable(template) == []
    assert template.only("DynamoDB::Table").of("DeletionProtectionEnabled") is True


def test_visibility_is_six_function_timeouts(template: Template) -> None:
    assert template.mappings(streams=False)
    assert rules.impatient_queues(template) == []


def test_one_bad_message_does_not_fail_its_neighbours(template: Template) -> None:
    """On queues only: on a stream, a reported record holds up everything behind it."""
    assert template.mappings(streams=True)
    assert rules.half_reported_batches(template) == []


def test_every_agents_queue_has_dead_letters_of_its_own(template: Template) -> None:
    assert rules.agents_without_dead_letters(template) == []


def test_no_local_variable_reaches_aws(template: Template) -> None:
    assert rules.local_variables(template) == []


def test_variables_fit_into_lambdas_4_kb(template: Template) -> None:
    assert rules.crowded_environments(template) == []


def test_a_fleet_of_38_agents_fits_one_stack(large: Template) -> None:
    """About ten resources per agent, and room for a change below the 500."""
    assert len(large.functions("worker")) == AGENTS
    assert len(large.body["Resources"]) <= 450
