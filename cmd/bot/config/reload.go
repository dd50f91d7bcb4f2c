package config

import (
	"reflect"
	"slices"
	"strings"

	"nod/setting"
)

// Take takes all that next, the same file as it is now, has changed. A key with the tag
// reload can be taken while the program runs: each of its readers asks for it anew, a
// secret among them where there is one before and after. If any other key changed,
// nothing is taken, and the error names each of them.
func (c *Config) Take(next *Config) error {
	t := taking{old: c, next: next, named: map[string]bool{}}
	t.compare(reflect.ValueOf(c).Elem(), reflect.ValueOf(next).Elem(), "", false)
	if len(t.refused) > 0 {
		own := slices.DeleteFunc(slices.Clone(t.refused), func(m Mistake) bool { return !c.Written(m.Key) && !next.Written(m.Key) })
		if len(own) > 0 { // the others inherit them
			t.refused = own
		}
		return sorted(t.refused)
	}
	for _, take := range t.takes {
		take()
	}
	return nil
}

// taking compares two files.
type taking struct {
	old, next *Config
	takes     []func() // of differences that can be taken
	refused   Mistakes // the others
	named     map[string]bool
}

// compare finds differences below a key; live is whether they can be taken.
func (t *taking) compare(old, now reflect.Value, key string, live bool) {
	if was, ok := old.Interface().(setting.Secret); ok {
		is, _ := now.Interface().(setting.Secret)
		t.changed(!was.Equal(is), key, live && was.IsSet() && is.IsSet(), func() { was.Renew(is) })
		return
	}
	switch old.Kind() {
	case reflect.Struct:
		for i := range old.NumField() {
			f := old.Type().Field(i)
			inner := key
			if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
				inner = join(key, name)
			}
			if f.IsExported() {
				t.compare(old.Field(i), now.Field(i), inner, live || f.Tag.Get("reload") != "")
			}
		}
	case reflect.Pointer:
		if old.IsNil() || now.IsNil() {
			t.changed(old.IsNil() != now.IsNil(), key, false, nil)
			return
		}
		t.compare(old.Elem(), now.Elem(), key, live)
	case reflect.Slice, reflect.Map:
		t.compareAll(old, now, key, live)
	default:
		t.changed(old.Interface() != now.Interface(), key, live, func() { old.Set(now) })
	}
}

// compareAll compares lists and tables.
func (t *taking) compareAll(old, now reflect.Value, key string, live bool) {
	switch {
	case old.Len() != now.Len() || old.Type() == typeRaw:
		t.changed(!reflect.DeepEqual(old.Interface(), now.Interface()), key, false, nil)
	case old.Kind() == reflect.Slice:
		for i := range old.Len() {
			t.compare(old.Index(i), now.Index(i), item(key, i), live)
		}
	default:
		for _, k := range old.MapKeys() {
			if is := now.MapIndex(k); is.IsValid() {
				t.compare(old.MapIndex(k), is, join(key, shown(k.String())), live)
			} else {
				t.changed(true, key, false, nil)
			}
		}
	}
}

// changed notes a difference, if there is one.
func (t *taking) changed(really bool, key string, live bool, take func()) {
	switch {
	case !really:
	case live:
		t.takes = append(t.takes, take)
	case !t.named[key]:
		t.named[key] = true
		t.refused = append(t.refused, Mistake{t.next.file, lineOf(t.next.lines, key), key, "has changed, which needs a restart"})
	}
}
