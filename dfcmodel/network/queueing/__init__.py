"""What stands at a link: disciplines, queue managers, switch programs, pauses, laws between its ends."""
