package evidence

// Secret is a text that prints, logs and marshals as a placeholder.
type Secret string

const hiddenSecret = "[hidden]"

// Reveal returns the text.
func (s Secret) Reveal() string { return string(s) }

// String hides the text.
func (Secret) String() string { return hiddenSecret }

// GoString hides the text from %#v.
func (Secret) GoString() string { return hiddenSecret }

// MarshalText hides the text from JSON, and so from slog.
func (Secret) MarshalText() ([]byte, error) { return []byte(hiddenSecret), nil }
