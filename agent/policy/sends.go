package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nod/llm"
)

// MostLeaves is how many values of a call are looked at.
const MostLeaves = 2000

// Sending lists the parameters of a call whose values go to a place outside.
func (t Tool) Sending(arguments string) (names []string) {
	if !slices.Contains(t.Sends, llm.Unnamed) {
		return t.Sends
	}
	var schema struct{ Properties map[string]json.RawMessage }
	var named map[string]json.RawMessage
	_ = json.Unmarshal(t.Parameters, &schema) // of a schema that can't be read nothing is named
	_ = json.Unmarshal([]byte(arguments), &named)
	for name := range named {
		if _, there := schema.Properties[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(names, t.Sends...)
}

// Sent lists the values of a parameter, however deep they lie in it; all is false when
// they are unknown, or too many.
func (t Tool) Sent(arguments, name string) (values []string, all bool) {
	var named map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &named) != nil {
		return nil, false
	}
	raw, there := named[name]
	if !there {
		return nil, true
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return nil, false
	}
	if !slices.Contains(t.Sends, name) { // the model chose it
		values = append(values, name)
	}
	t.carried(&values, value, false)
	return values, len(values) < MostLeaves
}

// carried collects the parts of a value that can carry a message: texts, numbers, and
// names that the parameters don't have. In a list each element counts, since a long list
// of choices carries as much as a text.
func (t Tool) carried(out *[]string, value any, listed bool) {
	if len(*out) >= MostLeaves {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for k, e := range v {
			if quoted, err := json.Marshal(k); err != nil || !bytes.Contains(t.Parameters, quoted) {
				*out = append(*out, k)
			}
			t.carried(out, e, listed)
		}
	case []any:
		for _, e := range v {
			t.carried(out, e, true)
		}
	default:
		text, isText := v.(string)
		if _, isNumber := v.(json.Number); !isText && (isNumber || listed) {
			text = fmt.Sprint(v)
		}
		if text != "" || listed {
			*out = append(*out, text)
		}
	}
}
