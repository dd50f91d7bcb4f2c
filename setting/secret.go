// Package setting holds the kinds of value that a key of the configuration file can have,
// for the packages that declare keys of their own. It knows no file.
package setting

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync/atomic"
)

const redacted = "[redacted]"

// Secret is a value that must not be seen: a key, a token, a URL with a
// password. However it is printed, logged or encoded, a redaction comes out;
// only Reveal gives the value. The value lies behind a pointer, since package
// fmt prints unexported fields without asking their methods. Copies share it, so that a
// running program can be given another value.
type Secret struct{ value *atomic.Pointer[string] }

// NewSecret hides a value. An empty one is the zero Secret.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	s := Secret{&atomic.Pointer[string]{}}
	s.value.Store(&value)
	return s
}

// Renew takes the value of another secret, in all copies. Both must be set.
func (s Secret) Renew(o Secret) { s.value.Store(o.value.Load()) }

// Reveal gives the value, for the one place that needs it.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value.Load()
}

// IsSet says whether there is a value.
func (s Secret) IsSet() bool { return s.value != nil }

// Equal compares the values.
func (s Secret) Equal(o Secret) bool { return s.Reveal() == o.Reveal() }

// String is the redaction, or nothing where there is no value.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return redacted
}

// Format writes the redaction, for any verb.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		text = strconv.Quote(text)
	}
	_, _ = io.WriteString(f, text)
}

// LogValue is the redaction, for log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText writes the redaction, in JSON and YAML too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
