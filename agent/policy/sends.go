package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"nod/llm"
)

// MostLeaves is how many values of a call are looked at.
const MostLeaves = 2000

// Sending lists the parameters of a call whose values go to a place outside.
func (t Tool) Sending(arguments string) (names []string) {
	var named map[string]any
	if !t.Undeclared && !slices.Contains(t.Sends, llm.Unnamed) || json.Unmarshal([]byte(arguments), &named) != nil {
		return t.Sends
	}
	for name, value := range named {
		switch {
		case slices.Contains(t.Sends, name):
		case slices.Contains(t.Sends, llm.Unnamed) && !t.declares(name), t.Undeclared && addressed(name, value):
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(names, t.Sends...)
}

// declares says whether a parameter stands in the schema.
func (t Tool) declares(name string) bool {
	var schema struct{ Properties map[string]json.RawMessage }
	_ = json.Unmarshal(t.Parameters, &schema) // of a schema that can't be read nothing is named
	_, there := schema.Properties[name]
	return there
}

// addressed says whether a value holds an address, by its name or by itself, however deep.
func addressed(name string, value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for k, e := range v {
			if isAddress(k) || addressed(k, e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return addressed(name, e) })
	case string:
		return v != "" && namesAddress(name) || isAddress(v)
	}
	return false
}

var (
	addressName = regexp.MustCompile(`(?i)(^|[^a-z])url|urls?([^a-z]|$)|href|hostname|webhook|endpoint|website|hyperlink|permalink|` +
		`(^|[^a-z])(ur[in]s?|iris?|links?|hosts?|domains?|fqdn|ips?|address(es)?|sites?|proxy|callback|redirect|recipients?)([^a-z]|$)`)
	otherName = regexp.MustCompile(`(?i)(^|[^a-z])(ids?|types?|kind|count|title|text|status|index|number)$`)
	nextWord  = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)
)

// namesAddress says whether a name is that of an address: target_url, linkTo, but not
// link_type.
func namesAddress(name string) bool {
	words := nextWord.ReplaceAllString(name, "$1${3}_$2$4")
	return (addressName.MatchString(name) || addressName.MatchString(words)) && !otherName.MatchString(words)
}

// isAddress says whether a value as a whole is an address: a URL with a host, perhaps
// within another scheme, or mail addresses.
func isAddress(value string) bool {
	value = strings.TrimSpace(value)
	if strings.ContainsAny(value, " \t\r\n") {
		_, err := mail.ParseAddressList(value)
		return err == nil
	}
	_, host, _ := strings.Cut(value, "://")
	if u, err := url.Parse(value); host != "" || err == nil && u.Host != "" {
		return true
	}
	_, err := mail.ParseAddressList(strings.TrimPrefix(value, "mailto:"))
	return err == nil
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
	if !slices.Contains(t.Sends, name) && !t.declares(name) { // the model chose it
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
