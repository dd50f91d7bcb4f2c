package args

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits on arguments. No honest call comes near these; a hostile one would make the
// schema check or a tool work for minutes.
const (
	maxDepth    = 64
	maxDigits   = 1000
	maxExponent = 1000
)

// inspect refuses valid JSON that is no clear call: a name given twice (the approver
// might read one value while the tool runs with the other), deep nesting, and numbers
// that take megabytes to compare.
func inspect(raw json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		switch err := inspectNext(dec, 0); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// inspectNext inspects the next value, within so many objects and lists. The error is
// io.EOF where there is none.
func inspectNext(dec *json.Decoder, depth int) error {
	token, err := dec.Token()
	if err != nil {
		return faulty(err)
	}
	if n, ok := token.(json.Number); ok {
		return inspectNumber(string(n))
	}
	kind, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if depth == maxDepth {
		return fmt.Errorf("objects and lists are nested more than %d levels deep; write it flatter", maxDepth)
	}
	names := map[string]bool{}
	for dec.More() {
		if kind == '{' {
			token, err := dec.Token()
			if err != nil {
				return faulty(err)
			}
			name, _ := token.(string)
			if names[name] {
				return fmt.Errorf("the name %q is there twice in one object; write it once", name)
			}
			names[name] = true
		}
		if err := inspectNext(dec, depth+1); err != nil {
			return err
		}
	}
	_, err = dec.Token() // the closing bracket
	return faulty(err)
}

// faulty puts an error into words, but for io.EOF and none.
func faulty(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return describe(err)
}

func inspectNumber(n string) error {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	e, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	if len(mantissa) > maxDigits || exponent != "" && (err != nil || e > maxExponent || e < -maxExponent) {
		return fmt.Errorf("a number has more than %d digits or an exponent beyond %d; write a smaller one", maxDigits, maxExponent)
	}
	return nil
}
