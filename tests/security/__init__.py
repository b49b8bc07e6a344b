"""What an attacker must not achieve, one test for each attack that was seen to work."""
