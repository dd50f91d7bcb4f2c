package config

import (
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
)

const redacted = "[redacted]"

// Secret is a value that must not be seen: a key, a token, a URL with a
// password. However it is printed, logged or encoded, a redaction comes out;
// only Reveal gives the value. The value lies behind a pointer, since package
// fmt prints unexported fields without asking their methods.
type Secret struct{ value *string }

// NewSecret hides a value. An empty one is the zero Secret.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{&value}
}

// Reveal gives the value, for the one place that needs it.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
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

// Format writes the redaction, whatever the verb.
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

// Secrets gives the values that the file names as secret, wherever they stand in
// it, so that they can be looked for in what leaves the program.
func (c *Config) Secrets() []string {
	var out []string
	gather(reflect.ValueOf(c).Elem(), &out)
	for _, m := range c.Tools.MCP {
		for _, arg := range m.Command { // [env, TOKEN=${TOKEN}, program]
			if name, value, ok := strings.Cut(arg, "="); ok && envName.MatchString(name) {
				out = append(out, value)
			}
		}
	}
	return out
}

// gather finds the secrets in a value of the configuration.
func gather(v reflect.Value, out *[]string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			gather(v.Elem(), out)
		}
	case reflect.Struct:
		if s, ok := v.Interface().(Secret); ok {
			*out = append(*out, s.Reveal())
			return
		}
		if s, ok := v.Interface().(Store); ok && s.URL.Reveal() == s.show {
			return // there is no user and no password in it
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				gather(v.Field(i), out)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			gather(v.Index(i), out)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			gather(v.MapIndex(key), out)
		}
	}
}
