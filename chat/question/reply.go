package question

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Decline is the word that declines a question.
const Decline = "decline"

// Declines says whether a reply is that word.
func Declines(reply string) bool {
	return strings.EqualFold(strings.Trim(strings.TrimSpace(reply), "`."), Decline)
}

// leftOut stands for a field that is not answered.
const leftOut = "-"

// Read gives the fields of a reply as a JSON object. The error names the mistake, in
// words for the person. It does not check the values against the schema.
func Read(fields []Field, reply string) (values json.RawMessage, err error) {
	reply = strings.TrimSpace(reply)
	if len(reply) > mostReply {
		return nil, fmt.Errorf("it is longer than %d bytes", mostReply)
	}
	out := map[string]any{}
	switch len(fields) {
	case 0:
		if yes, ok := yesNo(reply); !ok || !yes {
			return nil, errors.New("say `yes`, or `" + Decline + "`")
		}
	case 1:
		err = fields[0].read(out, reply)
	default:
		err = readLines(out, fields, reply)
	}
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, errors.New("it can't be read")
	}
	return raw, nil
}

// readLines reads `name: value` lines. A line that names no field goes on with the
// value before it.
func readLines(out map[string]any, fields []Field, reply string) error {
	found := map[string]string{}
	last := ""
	for line := range strings.Lines(reply) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, ":")
		f := named(fields, name)
		switch {
		case line == "":
		case ok && f != nil:
			if _, twice := found[f.Name]; twice {
				return fmt.Errorf("`%s` is there twice", f.Name)
			}
			last, found[f.Name] = f.Name, strings.TrimSpace(value)
		case last == "":
			return errors.New("write a line for each, as in `" + fields[0].Name + ": …`")
		default:
			found[last] += "\n" + line
		}
	}
	for _, f := range fields {
		value, there := found[f.Name]
		if !there {
			value = leftOut
		}
		if err := f.read(out, value); err != nil {
			return err
		}
	}
	return nil
}

func named(fields []Field, name string) *Field {
	name = strings.Trim(strings.TrimSpace(name), "`*-• ")
	for i := range fields {
		if strings.EqualFold(fields[i].Name, name) {
			return &fields[i]
		}
	}
	return nil
}

// read puts the value of a field into out.
func (f Field) read(out map[string]any, value string) error {
	switch {
	case value != leftOut && value != "":
	case f.Required:
		return fmt.Errorf("`%s` is needed", f.Name)
	default:
		return nil
	}
	switch f.Kind {
	case Text:
		out[f.Name] = value
	case Number, Integer:
		n := json.Number(strings.ReplaceAll(value, " ", ""))
		if _, err := n.Float64(); err != nil || !json.Valid([]byte(n)) {
			return fmt.Errorf("`%s` takes a number", f.Name)
		}
		out[f.Name] = n
	case YesNo:
		yes, ok := yesNo(value)
		if !ok {
			return fmt.Errorf("`%s` takes yes or no", f.Name)
		}
		out[f.Name] = yes
	case Choice:
		for _, o := range f.Options {
			if o.is(value) {
				out[f.Name] = o.Value
				return nil
			}
		}
		return fmt.Errorf("`%s` takes one of what is listed", f.Name)
	}
	return nil
}

func (o Option) is(value string) bool {
	value = strings.Trim(value, "`\"")
	return strings.EqualFold(value, o.Value) || o.Title != "" && strings.EqualFold(value, o.Title) || strings.EqualFold(value, o.shown())
}

func yesNo(value string) (yes, ok bool) {
	switch strings.ToLower(strings.Trim(value, "`.! ")) {
	case "yes", "y", "true", "ok", "okay", "✅", "👍":
		return true, true
	case "no", "n", "false", "❌", "👎":
		return false, true
	}
	return false, false
}
