"""What comes due within the hours that Redis holds: fed, armed, repaired."""
