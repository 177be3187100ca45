"""What must hold in every template, whatever the fleet."""
