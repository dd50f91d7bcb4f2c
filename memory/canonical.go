package memory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical gives JSON in the form of RFC 8785, for hashing and signing: no spaces,
// names sorted by UTF-16, numbers as ECMAScript writes them. JSON that is not I-JSON (a
// name twice, broken UTF-8) is an error, since two readers may disagree about it.
func Canonical(raw []byte) ([]byte, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("it is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	out, err := canonical(nil, dec)
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON")
	}
	return out, nil
}

func canonical(out []byte, dec *json.Decoder) ([]byte, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := t.(type) {
	case json.Delim:
		if v == '[' {
			return canonicalList(out, dec)
		}
		return canonicalObject(out, dec)
	case json.Number:
		return canonicalNumber(out, v)
	case string:
		return canonicalText(out, v), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	}
	return append(out, "null"...), nil
}

func canonicalList(out []byte, dec *json.Decoder) (_ []byte, err error) {
	out = append(out, '[')
	for first := true; dec.More(); first = false {
		if !first {
			out = append(out, ',')
		}
		if out, err = canonical(out, dec); err != nil {
			return nil, err
		}
	}
	_, err = dec.Token()
	return append(out, ']'), err
}

func canonicalObject(out []byte, dec *json.Decoder) ([]byte, error) {
	members := map[string][]byte{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("the name %q is there twice", name)
		}
		if members[name], err = canonical(nil, dec); err != nil {
			return nil, err
		}
	}
	out = append(out, '{')
	for i, name := range slices.SortedFunc(maps.Keys(members), byUTF16) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(canonicalText(out, name), ':'), members[name]...)
	}
	_, err := dec.Token()
	return append(out, '}'), err
}

func byUTF16(a, b string) int {
	return cmp.Or(slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))), cmp.Compare(a, b))
}

// canonicalNumber writes a number as encoding/json writes a float64. ECMAScript differs
// only in the negative zero.
func canonicalNumber(out []byte, n json.Number) ([]byte, error) {
	f, err := n.Float64()
	if err != nil {
		return nil, err
	}
	if f == 0 {
		return append(out, '0'), nil
	}
	raw, err := json.Marshal(f)
	return append(out, raw...), err
}

// canonicalText escapes only the characters that need it.
func canonicalText(out []byte, s string) []byte {
	const short = "\b\t\n\f\r"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= ' ':
			out = append(out, c)
		default:
			if j := bytes.IndexByte([]byte(short), c); j >= 0 {
				out = append(out, '\\', "btnfr"[j])
			} else {
				out = fmt.Appendf(out, `\u%04x`, c)
			}
		}
	}
	return append(out, '"')
}
