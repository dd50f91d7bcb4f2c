package config

import (
	"reflect"
	"strings"

	"nod/setting"
)

// Secrets gives all secret values of the file, for the mask.
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
