package config

import (
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"nod/setting"
)

// Secrets gives all secret values of the file, for the mask.
func (c *Config) Secrets() []string {
	var out []string
	gather(reflect.ValueOf(c).Elem(), &out)
	gather(reflect.ValueOf(c.files), &out)
	for _, m := range c.Tools.MCP {
		for _, arg := range m.Command { // [env, TOKEN=${TOKEN}, program]
			if name, value, ok := strings.Cut(arg, "="); ok && envName.MatchString(name) && IsSecret(name, value) {
				out = append(out, value)
			}
		}
	}
	return out
}

// secretName is how variables are called that hold a secret.
var secretName = regexp.MustCompile(`(?i)secret|token|passw|passphrase|pwd|credential|private|api_?key|auth|dsn|(^|_)key($|_)`)

// IsSecret says whether a variable has the name of a secret, or its value is an address
// with a password. A plain variable is none: "staging" would vanish from every answer.
func IsSecret(name, value string) bool {
	u, err := url.Parse(value)
	return secretName.MatchString(name) || err == nil && u.User != nil
}

// gather finds the secrets in a value of the configuration.
func gather(v reflect.Value, out *[]string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			gather(v.Elem(), out)
		}
	case reflect.Struct:
		if s, ok := v.Interface().(setting.Secret); ok {
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
