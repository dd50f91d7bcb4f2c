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

// frame is an object or a list that is open while a value is walked.
type frame struct {
	names map[string]bool // nil for a list
	value bool            // in an object: a name was read, its value comes next
}

// inspect refuses valid JSON that is no clear call: a name given twice (the approver
// might read one value while the tool runs with the other), deep nesting, and numbers
// that take megabytes to compare.
func inspect(raw json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var open []frame
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return describe(err)
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if isName, err := enter(open, token); err != nil {
			return err
		} else if isName {
			continue
		}
		switch t := token.(type) {
		case json.Delim:
			if len(open) == maxDepth {
				return fmt.Errorf("objects and lists are nested more than %d levels deep; write it flatter", maxDepth)
			}
			open = append(open, newFrame(t))
		case json.Number:
			if err := inspectNumber(string(t)); err != nil {
				return err
			}
		}
	}
}

func newFrame(d json.Delim) frame {
	if d == '{' {
		return frame{names: map[string]bool{}}
	}
	return frame{}
}

// enter notes the token in the innermost open object or list, and says whether
// it is the name of a member.
func enter(open []frame, token json.Token) (isName bool, err error) {
	if len(open) == 0 {
		return false, nil
	}
	top := &open[len(open)-1]
	if top.names == nil {
		return false, nil
	}
	if top.value {
		top.value = false
		return false, nil
	}
	name, _ := token.(string)
	if top.names[name] {
		return true, fmt.Errorf("the name %q is there twice in one object; write it once", name)
	}
	top.names[name], top.value = true, true
	return true, nil
}

func inspectNumber(n string) error {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	e, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	if len(mantissa) > maxDigits || exponent != "" && (err != nil || e > maxExponent || e < -maxExponent) {
		return fmt.Errorf("a number has more than %d digits or an exponent beyond %d; write a smaller one", maxDigits, maxExponent)
	}
	return nil
}
