"""What tests share: no tests in here."""
