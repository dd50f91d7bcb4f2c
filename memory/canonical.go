package memory

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical gives JSON in the form of RFC 8785, for hashing and signing: no spaces,
// names sorted by UTF-16, numbers as ECMAScript writes them. JSON that is not I-JSON (a
// name twice, broken UTF-8) is an error, since two readers may disagree about it.
func Canonical(raw []byte) ([]byte, error) {
	var any any // a number that no float64 holds is an error too
	err := json.Unmarshal(raw, &any)
	v := jsontext.Value(raw).Clone()
	if err == nil {
		err = v.Canonicalize()
	}
	return v, Doing("read JSON", err)
}
