package memory

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical gives JSON in the form of RFC 8785, for hashing and signing: no spaces,
// names sorted by UTF-16, numbers as ECMAScript writes them. JSON that is not I-JSON (a
// name twice, broken UTF-8) is an error, since two readers may disagree about it.
func Canonical(raw []byte) ([]byte, error) {
	var doc any // a number that no float64 holds is an error too
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, Doing("read JSON", err)
	}
	v := jsontext.Value(raw).Clone()
	if err := v.Canonicalize(); err != nil {
		return nil, Doing("read JSON", err)
	}
	return v, nil
}
