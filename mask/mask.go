// Package mask takes secrets out of every text that leaves the program: results of
// tools, prompts, logs, output of commands.
//
// The configuration knows its secrets, but not where they come back. A server repeats
// a header, a script runs with "set -x", a library puts an address with a key into an
// error. So the mask looks for every secret in every text, also in the forms that it
// takes on its way, as build services do with their logs. It is a net below careful
// code: a secret that a program reverses, cuts in two or writes in hexadecimal passes.
package mask

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Sign stands where a secret was.
const Sign = "[secret]"

// shortest is the shortest masked value. A shorter value stands in any text by
// chance, and a text full of signs would reveal it.
const shortest = 6

// Mask knows secrets. A nil *Mask knows none. It is safe for concurrent use.
type Mask struct {
	mu     sync.Mutex
	values []string
	known  atomic.Pointer[strings.Replacer] // nil: there is nothing to mask
}

// New makes a mask of values. For an address it also masks the password and the values
// of the query. For several words ("Bearer …") it masks the last one, and for several
// lines each long one.
func New(values ...string) *Mask {
	m := &Mask{}
	m.Learn(values...)
	return m
}

// Learn adds secrets to those that are masked already.
func (m *Mask) Learn(values ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values = append(m.values, values...)
	m.known.Store(compile(m.values))
}

// compile gives nil if there is nothing to mask.
func compile(values []string) *strings.Replacer {
	var forms []string
	for _, v := range values {
		for _, part := range parts(v) {
			forms = append(forms, written(part)...)
		}
	}
	forms = slices.DeleteFunc(forms, func(f string) bool { return len(f) < shortest })
	if len(forms) == 0 {
		return nil
	}
	// The longest first, since the replacer takes the first that fits.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, Sign)
	}
	return strings.NewReplacer(pairs...)
}

// Text gives a text without secrets.
func (m *Mask) Text(text string) string {
	if m == nil {
		return text
	}
	k := m.known.Load()
	if k == nil {
		return text
	}
	return k.Replace(text)
}

// Bytes gives the content of a file without secrets. One that held some may be
// broken then.
func (m *Mask) Bytes(data []byte) []byte {
	if m == nil {
		return data
	}
	text := string(data)
	if masked := m.Text(text); masked != text {
		return []byte(masked)
	}
	return data
}

// parts are the secret parts of a value.
func parts(value string) []string {
	value = strings.TrimSpace(value)
	out := []string{value}
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		password, _ := u.User.Password()
		out = append(out, password)
		for _, values := range u.Query() {
			out = append(out, values...)
		}
		return out
	}
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= 16 && line != value && !strings.HasPrefix(line, "-----") {
			out = append(out, line)
		}
	}
	if i := strings.LastIndexByte(value, ' '); i >= 0 && len(value)-i > 8 {
		out = append(out, value[i+1:])
	}
	return out
}

// written are the forms in which programs write a value.
func written(value string) []string {
	if len(value) < shortest {
		return nil
	}
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value), html.EscapeString(value)}
	forms = append(forms, percented(value)...)
	forms = append(forms, quoted(value)...)
	return append(forms, encoded(value)...)
}

// percented are the forms of an address that are none of Go's: most others leave the
// slashes of a path, and all else that is not letters and digits they escape; some
// write their hexadecimal digits small.
func percented(value string) (forms []string) {
	escaped := strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	for _, form := range []string{escaped, strings.ReplaceAll(escaped, "%2F", "/"), url.QueryEscape(value), url.PathEscape(value)} {
		forms = append(forms, form, percentSign.ReplaceAllStringFunc(form, strings.ToLower))
	}
	return forms
}

var percentSign = regexp.MustCompile(`%[0-9A-F]{2}`)

// quoted are the forms in JSON: with and without the escapes that HTML would need,
// and with those of slashes, as PHP writes them.
func quoted(value string) (forms []string) {
	for _, page := range []bool{true, false} {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(page)
		if err := e.Encode(value); err != nil {
			continue // can't be: a string always encodes
		}
		form := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text.String()), `"`), `"`)
		forms = append(forms, form, strings.ReplaceAll(form, "/", `\/`))
	}
	return forms
}

// encoded gives the forms in base64: alone, and behind other text, such as the name
// before a password. It leaves out the letters at the ends that depend on their
// neighbours.
func encoded(value string) (forms []string) {
	raw := []byte(value)
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, e.EncodeToString(raw))
		for before := range 3 {
			bits := 8 * (before + len(raw))
			form := e.EncodeToString(append(make([]byte, before), raw...))
			forms = append(forms, form[(8*before+5)/6:bits/6])
		}
		forms = append(forms, e.WithPadding(base64.NoPadding).EncodeToString(raw))
	}
	return forms
}
