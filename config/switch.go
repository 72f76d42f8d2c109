package config

import "errors"

// Switch is something that is on or off.
type Switch bool

// UnmarshalText reads on or off.
func (s *Switch) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on":
		*s = true
	case "off":
		*s = false
	default:
		return errors.New("must be on or off")
	}
	return nil
}

// String is the word for it.
func (s Switch) String() string {
	if s {
		return "on"
	}
	return "off"
}
