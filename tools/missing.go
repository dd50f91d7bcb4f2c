package tools

// Missing is the reason why a tool is off: a part that it needs is missing. Its words
// are for the operator and name the remedy.
type Missing struct{ Why string }

// Error implements error.
func (m *Missing) Error() string { return m.Why }
