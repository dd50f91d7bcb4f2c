package form

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"nod/chat"
)

// Wrong is a mistake in a field. ID is empty if the field is not the form's.
type Wrong struct{ ID, Why string }

// Filled is a field as somebody filled it in: with a text, [Ticked] or "", or the
// value of the option.
type Filled struct{ ID, Value string }

// Read makes arguments of a filled-in form.
func Read(filled []Filled) (arguments string, wrong *Wrong) {
	var b bytes.Buffer
	for _, f := range filled {
		if f.ID == asJSON {
			return readJSON(f)
		}
		value, why := f.read()
		switch {
		case why != "":
			return "", &Wrong{f.ID, why}
		case value == nil:
			continue
		case b.Len() > 0:
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.ID[1:])
		if err != nil {
			return "", &Wrong{f.ID, "this can't be read"}
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	return "{" + b.String() + "}", nil
}

func readJSON(f Filled) (string, *Wrong) {
	text := strings.TrimSpace(f.Value)
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return "", &Wrong{f.ID, "this is no JSON object"}
	}
	return text, nil
}

// read gives the value of a field; nil if it is left out.
func (f Filled) read() (value json.RawMessage, why string) {
	if len(f.ID) < 2 {
		return nil, "this field is not of the form"
	}
	switch f.ID[:1] {
	case asText:
		if f.Value == "" {
			return nil, ""
		}
		return quoted(f.Value)
	case asString:
		return quoted(f.Value)
	case asNumber:
		return number(strings.TrimSpace(f.Value))
	case asFlag:
		if f.Value != Ticked {
			return nil, ""
		}
		return json.RawMessage("true"), ""
	case asBool:
		if f.Value != Ticked {
			return json.RawMessage("false"), ""
		}
		return json.RawMessage("true"), ""
	case asOption:
		if f.Value == leftOut || f.Value == "" {
			return nil, ""
		}
		if !json.Valid([]byte(f.Value)) {
			return nil, "choose one of these"
		}
		return json.RawMessage(f.Value), ""
	}
	return nil, "this field is not of the form"
}

// quoted writes a text as JSON. Lines end as they do everywhere but in browsers.
func quoted(text string) (json.RawMessage, string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(strings.ReplaceAll(text, "\r\n", "\n")); err != nil {
		return nil, "this can't be read"
	}
	return bytes.TrimSpace(b.Bytes()), ""
}

func number(text string) (json.RawMessage, string) {
	if text == "" {
		return nil, ""
	}
	var n json.Number
	if text[0] == '"' || json.Unmarshal([]byte(text), &n) != nil {
		return nil, "this is no number"
	}
	return json.RawMessage(text), ""
}

// Blame finds the field that an error is about, by its name: the first one where it
// names none.
func Blame(ids []string, why string) string {
	for _, id := range ids {
		if len(id) > 1 && strings.Contains(why, "/"+id[1:]+":") {
			return id
		}
	}
	for _, id := range ids {
		if len(id) > 1 && strings.Contains(why, id[1:]) {
			return id
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// Title is the heading of a form, of at most most units.
func Title(p *chat.Approval, most int) string {
	number, tool := strconv.Itoa(p.Number), chat.Exact(p.Tool)
	return fitting(most, "Approval "+number+": "+tool, "Edit "+tool, "Edit "+number, "Edit")
}

// AgainTitle is the same above a form of a call that is run again.
func AgainTitle(tool string, most int) string {
	return fitting(most, "Run "+chat.Exact(tool)+" again", "Run again")
}

// fitting is the first title that fits, or the last.
func fitting(most int, titles ...string) string {
	for len(titles) > 1 && units(titles[0]) > most {
		titles = titles[1:]
	}
	return titles[0]
}
