package fakediscord

import (
	"fmt"
	"slices"
)

// Limits of a form: https://discord.com/developers/docs/components/reference and
// https://discord.com/developers/docs/interactions/receiving-and-responding. The
// published contract allows 40 components, the documentation 5.
const (
	mostModalTitle      = 45
	mostModalComponents = 5
	mostFieldLabel      = 45
	mostFieldAbout      = 100
	mostTyped           = 4000
	mostTypedHint       = 100
)

// Kinds of form fields.
const (
	rowKind      = 1
	menuKind     = 3
	typedKind    = 4
	textKind     = 10
	labelKind    = 18
	checkboxKind = 23
)

// Modal is a form as a person sees it.
type Modal struct {
	ID, Title string
	Texts     []string // that stand before the fields
	Fields    []ModalField
}

// ModalField is a field of a form. Value is its first value; of a menu the value of the
// option, of a checkbox "yes" or "no".
type ModalField struct {
	ID, Label, About, Value string
	Kind, Style             int
	Required                bool
	Most                    int
	Options                 []string // labels
	values                  []string
}

func modal(q *request) (Modal, *apiError) {
	var body struct {
		CustomID   string           `json:"custom_id"`
		Title      string           `json:"title"`
		Components []map[string]any `json:"components"`
	}
	if bad := q.decode(&body); bad != nil {
		return Modal{}, bad
	}
	f := &form{ids: map[string]bool{}}
	f.length("data.custom_id", body.CustomID, 1, mostCustomID)
	f.length("data.title", body.Title, 1, mostModalTitle)
	if len(body.Components) < 1 || len(body.Components) > mostModalComponents {
		f.fail("data.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
	}
	m := Modal{ID: body.CustomID, Title: body.Title}
	for i, c := range body.Components {
		if text, _ := c["content"].(string); c["type"] == float64(textKind) {
			f.length(fmt.Sprintf("data.components.%d.content", i), text, 1, mostTyped)
			m.Texts = append(m.Texts, text)
			continue
		}
		m.Fields = append(m.Fields, f.field(fmt.Sprintf("data.components.%d", i), c))
	}
	return m, f.bad
}

// field reads a component at the top of a form: a label with a field, or a row with
// a text input, as there once were.
func (f *form) field(at string, c map[string]any) ModalField {
	inner, _ := c["component"].(map[string]any)
	label, _ := c["label"].(string)
	about, described := c["description"].(string)
	switch kind, _ := c["type"].(float64); kind {
	case labelKind:
		f.length(at+".label", label, 1, mostFieldLabel)
		if described {
			f.length(at+".description", about, 1, mostFieldAbout)
		}
	case rowKind:
		list, _ := c["components"].([]any)
		if len(list) != 1 {
			f.fail(at+".components", "BASE_TYPE_BAD_LENGTH", "Must be 1 in length.")
			return ModalField{}
		}
		inner, _ = list[0].(map[string]any)
		label, _ = inner["label"].(string)
		f.length(at+".label", label, 1, mostFieldLabel)
	default:
		f.fail(at+".type", "UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (1, 10, 18).")
	}
	out := f.filling(at+".component", inner)
	out.Label, out.About = label, about
	return out
}

// filling reads a filled-in field: text, a menu or a checkbox.
func (f *form) filling(at string, c map[string]any) ModalField {
	out := ModalField{Required: c["required"] != false}
	out.ID, _ = c["custom_id"].(string)
	kind, _ := c["type"].(float64)
	if kind != menuKind { // which is looked at as a whole
		f.customID(at, c)
	}
	switch out.Kind = int(kind); out.Kind {
	case typedKind:
		f.typing(at, c, &out)
	case menuKind:
		f.choice(at, c)
		options, _ := c["options"].([]any)
		for i, e := range options {
			o, _ := e.(map[string]any)
			label, _ := o["label"].(string)
			value, _ := o["value"].(string)
			if slices.Contains(out.values, value) {
				f.fail(fmt.Sprintf("%s.options.%d.value", at, i), "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used")
			}
			out.Options, out.values = append(out.Options, label), append(out.values, value)
			if o["default"] == true {
				out.Value = value
			}
		}
	case checkboxKind:
		out.Required, out.Value = false, "no"
		if c["default"] == true {
			out.Value = "yes"
		}
	default:
		f.fail(at+".type", "UNION_TYPE_CHOICES", "Unknown type of component.")
	}
	return out
}

func (f *form) typing(at string, c map[string]any, out *ModalField) {
	style, _ := c["style"].(float64)
	if out.Style = int(style); style != 1 && style != 2 {
		f.fail(at+".style", "BASE_TYPE_CHOICES", "Value must be one of {1, 2}.")
	}
	out.Value, _ = c["value"].(string)
	hint, _ := c["placeholder"].(string)
	out.Most = mostTyped
	if most, ok := c["max_length"].(float64); ok {
		out.Most = int(most)
	}
	if out.Most < 1 || out.Most > mostTyped {
		f.fail(at+".max_length", "NUMBER_TYPE_MAX", "int value should be between 1 and 4000.")
	}
	f.length(at+".value", out.Value, 0, out.Most)
	f.length(at+".placeholder", hint, 0, mostTypedHint)
}

// FillIn lets a person fill in the form that answered an interaction, as their client
// would, and returns the new interaction's id. Untouched fields keep their values.
// values are by field id: the text, the label of an option, or yes and no for a
// checkbox.
func (s *Server) FillIn(interactionID string, values map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.interactions {
		if i.ID != interactionID || i.Form == "" {
			continue
		}
		used, components := 0, []object{}
		for n := range i.Modal.Texts { // without the words
			components = append(components, object{"type": textKind, "id": 100 + n})
		}
		for n, field := range i.Modal.Fields {
			value, touched := values[field.ID]
			if touched {
				used++
			}
			c := field.filled(value, touched)
			c["id"] = 2*n + 2
			components = append(components, object{"type": labelKind, "id": 2*n + 1, "component": c})
		}
		if used != len(values) {
			panic(fmt.Sprintf("fakediscord: the form has no such fields as %v", values))
		}
		next := &interaction{user: i.user, channel: i.channel, clicked: i.clicked, sent: true}
		next.CustomID = i.Form
		return s.begin(next, object{"custom_id": i.Form, "components": components})
	}
	panic(fmt.Sprintf("fakediscord: interaction %s has no form", interactionID))
}

// filled is Discord's form of a filled-in field.
func (f ModalField) filled(value string, touched bool) object {
	out := object{"type": f.Kind, "custom_id": f.ID}
	if !touched {
		value = f.Value
	}
	switch f.Kind {
	case menuKind:
		if touched {
			at := slices.Index(f.Options, value)
			if at < 0 {
				panic("fakediscord: no option " + value)
			}
			value = f.values[at]
		}
		out["values"] = []string{value}
		if value == "" {
			out["values"] = []string{}
		}
	case checkboxKind:
		out["value"] = value == "yes"
	default:
		out["value"] = value
	}
	if f.Required && value == "" || f.Kind == typedKind && len([]rune(value)) > f.Most {
		panic("fakediscord: the client does not send " + f.ID)
	}
	return out
}
