package tools

// Missing is why a tool is off: something that it needs is not there. Its words
// are for the operator and say what to install or to set.
type Missing struct{ Why string }

// Error implements error.
func (m *Missing) Error() string { return m.Why }
