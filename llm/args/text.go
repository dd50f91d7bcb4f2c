package args

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/kaptinlin/jsonrepair"
)

// Limits on jsonrepair's input. Its time grows with the square of the input and of its
// quotes: 8 KB full of backticks take 20 s. Within these limits no tried input took 0.3
// s.
const (
	maxRepair = 8 << 10
	maxQuotes = 256
)

// Text reads the arguments of a call that the model wrote as text, behind `Action
// Input:`. It cuts off a hallucinated Observation and code fences, and takes the first
// JSON value. It doubles unescaped backslashes, and repairs other slips: single quotes,
// missing quotes or commas, comments, Python's True. It repairs only a closed value,
// and leaves out nothing of it. Bare text is the value of a tool's only string
// parameter. A nil schema means an unknown tool.
func Text(text string, schema *Schema) (json.RawMessage, error) {
	body, err := prepare(cutObservation(text))
	if err != nil {
		return nil, err
	}
	body, fenced := unfence(body)
	if strings.HasPrefix(body, "`{") {
		body = body[1:]
	}
	name, required := schema.bare()
	object := strings.IndexByte(body, '{')
	strict, err := Native(body)
	switch {
	case body == "" && fenced:
		return nil, ErrUnclosed
	case body == "":
		return json.RawMessage(`{}`), nil
	case err == nil && (name == "" || object == 0):
		return strict, nil
	case object == 0:
		return lenient(body)
	case isNothing(body) && !required:
		return json.RawMessage(`{}`), nil
	case name != "":
		return bareText(name, body)
	case object > 0:
		return lenient(body[object:])
	}
	if _, _, err := first(body); errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, ErrUnclosed
	}
	return nil, errors.New("the arguments must be one JSON object")
}

// Single names the parameter that takes bare text in [Text]: the only required one, or
// the only one, if it is a string. It is far cheaper than [Compile], and so fit for
// every prompt.
func Single(parameters json.RawMessage) (name string, ok bool) {
	var root map[string]any
	if json.Unmarshal(parameters, &root) != nil {
		return "", false
	}
	var s Schema
	s.readParameters(root)
	return s.single, s.single != ""
}

func cutObservation(text string) string {
	if strings.HasPrefix(text, "Observation:") {
		return ""
	}
	text, _, _ = strings.Cut(text, "\nObservation:")
	return text
}

// isNothing knows the words by which models say that there are no arguments.
func isNothing(body string) bool {
	switch strings.ToLower(strings.Trim(body, "`")) {
	case "none", "null", "n/a", "nil", "[]", `""`, "''", "-":
		return true
	}
	return false
}

// bareText makes the arguments of text that is no object.
func bareText(name, body string) (json.RawMessage, error) {
	if i := strings.LastIndex(body, "```"); i >= 0 && strings.TrimSpace(body[i+3:]) == "" {
		body = strings.TrimSpace(body[:i])
	}
	value := body
	if strings.HasPrefix(body, `"`) {
		raw, rest, err := first(body)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, ErrUnclosed
		}
		if err == nil && strings.TrimSpace(rest) == "" {
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, describe(err)
			}
		}
	}
	return encode(map[string]string{name: value})
}

// lenient reads the object with which body begins.
func lenient(body string) (json.RawMessage, error) {
	raw, rest, err := first(body)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		body = doubleBackslashes(body)
		raw, rest, err = first(body)
	}
	if errors.As(err, &syntax) {
		raw, rest, err = repair(body)
		if err != nil {
			return nil, err
		}
		if beginsWith(rest, `]}`) {
			return nil, errRemainder
		}
	}
	if err != nil {
		return nil, describe(err)
	}
	if beginsWith(rest, `,:"'`) {
		return nil, errRemainder
	}
	return finish(raw)
}

// repair makes JSON of the object with which body begins, if it is closed.
func repair(body string) (raw json.RawMessage, rest string, err error) {
	end, err := extent(body)
	if err != nil {
		return nil, "", err
	}
	if end > maxRepair || quotes(body[:end]) > maxQuotes {
		return nil, "", errors.New("the arguments are not valid JSON, and too long to repair; write one strict JSON object")
	}
	fixed, err := jsonrepair.Repair(body[:end])
	if err != nil {
		return nil, "", fmt.Errorf("the arguments are not valid JSON: %w; write one strict JSON object", err)
	}
	raw, left, err := first(fixed)
	if err == nil && strings.TrimSpace(left) != "" {
		err = errRemainder
	}
	return raw, body[end:], err
}

// quotes counts the quotes of every kind.
func quotes(s string) int {
	n := 0
	for _, r := range s {
		if strings.ContainsRune("\"'`´‘’“”", r) {
			n++
		}
	}
	return n
}

// inQuotes matches a string, and escapes an escape of JSON or a backslash that begins none.
var (
	inQuotes = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"?`)
	escapes  = regexp.MustCompile(`\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})?`)
)

// doubleBackslashes doubles, in double-quoted strings, every backslash that
// does not begin an escape of JSON: a model that writes `\d` means a backslash.
func doubleBackslashes(s string) string {
	return inQuotes.ReplaceAllStringFunc(s, func(quoted string) string {
		return escapes.ReplaceAllStringFunc(quoted, func(e string) string {
			if e == `\` {
				return `\\`
			}
			return e
		})
	})
}
