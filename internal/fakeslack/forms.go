package fakeslack

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Limits of a modal and of what is filled in there
// (https://docs.slack.dev/reference/views/modal-views,
// https://docs.slack.dev/reference/block-kit/blocks/input-block).
const (
	maxPrivate     = 3000
	maxHint        = 2000
	maxTyped       = 3000 // of a plain_text_input
	maxPlaceholder = 150
	maxChoice      = 75 // the text of an option
	maxChoiceValue = 150
	maxTicks       = 10 // options of checkboxes
)

// checkModal checks the parts of a modal besides its blocks.
func checkModal(raw []byte, kind string) error {
	var v struct {
		Submit   obj    `json:"submit"`
		Private  string `json:"private_metadata"`
		Callback string `json:"callback_id"`
		Blocks   []obj  `json:"blocks"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return breach("invalid_arguments", "view: %v", err)
	}
	asks := slices.ContainsFunc(v.Blocks, func(b obj) bool { return b.str("type") == "input" })
	switch {
	case utf8.RuneCountInString(v.Private) > maxPrivate:
		return breach("invalid_arguments", "private_metadata has %d characters, %d are allowed", utf8.RuneCountInString(v.Private), maxPrivate)
	case utf8.RuneCountInString(v.Callback) > maxID:
		return breach("invalid_arguments", "callback_id has %d characters, %d are allowed", utf8.RuneCountInString(v.Callback), maxID)
	case kind == "modal" && asks && v.Submit.str("text") == "":
		return breach("invalid_arguments", "a modal with input blocks has no submit")
	}
	return nil
}

// input judges a field of a form.
func (j *judge) input(at string, b obj) {
	j.text(at+"/label", b["label"], maxSection-1000, true)
	if hint, ok := b["hint"]; ok {
		j.text(at+"/hint", hint, maxHint, true)
	}
	j.element(at+"/element", b["element"])
	e, _ := b.child("element")
	at += "/element"
	if placeholder, ok := e["placeholder"]; ok {
		j.text(at+"/placeholder", placeholder, maxPlaceholder, true)
	}
	switch e.str("type") {
	case "plain_text_input":
		j.typed(at, e)
	case "static_select":
		j.only(at, e, "type", "action_id", "options", "option_groups", "initial_option", "confirm", "focus_on_load", "placeholder")
		j.choices(at, e, maxOptions)
		if first, ok := e.child("initial_option"); ok {
			j.among(at, e, first)
		}
	case "checkboxes":
		j.only(at, e, "type", "action_id", "options", "initial_options", "confirm", "focus_on_load")
		j.choices(at, e, maxTicks)
		ticked, ok := e["initial_options"]
		j.expect(!ok || len(e.list("initial_options")) > 0, at, "initial_options %v", ticked)
		for _, o := range e.list("initial_options") {
			first, _ := o.(map[string]any)
			j.among(at, e, first)
		}
	case "button", "overflow", "feedback_buttons", "icon_button", "workflow_button":
		j.expect(false, at, "an input takes no %s", e.str("type"))
	}
}

func (j *judge) typed(at string, e obj) {
	j.only(at, e, "type", "action_id", "initial_value", "multiline", "min_length", "max_length", "placeholder", "dispatch_action_config", "focus_on_load")
	most := float64(maxTyped)
	if n, ok := e["max_length"].(float64); ok {
		j.expect(n >= 1 && n <= most, at, "max_length %v, 1 to %d are allowed", n, maxTyped)
		most = n
	}
	first, there := e["initial_value"]
	n := utf8.RuneCountInString(e.str("initial_value"))
	j.expect(!there || n > 0 && float64(n) <= most, at, "initial_value %.20q has %d characters, 1 to %v are allowed", first, n, most)
}

func (j *judge) choices(at string, e obj, most int) {
	options := e.list("options")
	j.expect(len(options) >= 1 && len(options) <= most, at, "%d options, 1 to %d are allowed", len(options), most)
	values := map[string]bool{}
	for i, o := range options {
		m, _ := o.(map[string]any)
		here := fmt.Sprintf("%s/options/%d", at, i)
		j.only(here, m, "text", "value", "description", "url")
		j.text(here+"/text", obj(m)["text"], maxChoice, e.str("type") == "static_select")
		value := obj(m).str("value")
		n := utf8.RuneCountInString(value)
		j.expect(n >= 1 && n <= maxChoiceValue, here, "value has %d characters, 1 to %d are allowed", n, maxChoiceValue)
		j.expect(!values[value], here, "value %q occurs twice", value)
		values[value] = true
	}
}

// among says whether an option is exactly one of those that there are.
func (j *judge) among(at string, e, first obj) {
	same := func(o any) bool {
		m, _ := o.(map[string]any)
		a, _ := json.Marshal(m)
		b, _ := json.Marshal(first)
		return string(a) == string(b)
	}
	j.expect(slices.ContainsFunc(e.list("options"), same), at, "an initial option that is none of the options: %v", first)
}

// Fill lets a person fill in a modal and send it, as their client would. Untouched
// fields keep their values, and required ones must have one. values are by block id:
// the text, the text of the option, or "yes" and "no" for a box. The modal closes when
// the app acknowledges without errors.
func (s *Server) Fill(user, view string, values map[string]string) string {
	defer s.change()()
	v := s.view(view)
	if v.User != user {
		panic("fakeslack: " + user + " sees no view " + view)
	}
	var in struct{ Blocks []obj }
	_ = json.Unmarshal(v.Raw, &in) // it was read before
	state, used := reply{}, 0
	for _, b := range in.Blocks {
		if b.str("type") != "input" {
			continue
		}
		given, touched := values[b.str("block_id")]
		if touched {
			used++
		}
		e, _ := b.child("element")
		got := filledIn(e, given, touched)
		ticked, _ := got["selected_options"].([]any)
		if !b.truth("optional") && got["value"] == nil && got["selected_option"] == nil && len(ticked) == 0 {
			panic("fakeslack: the client asks for " + b.str("block_id"))
		}
		state[b.str("block_id")] = reply{e.str("action_id"): got}
	}
	if used != len(values) {
		panic(fmt.Sprintf("fakeslack: the view has no such fields as %v", values))
	}
	out := s.interaction("view_submission", s.user(user))
	rendered := s.renderView(v)
	rendered["state"] = reply{"values": state}
	out["view"], out["response_urls"] = rendered, []any{}
	id, _ := out["trigger_id"].(string)
	s.dispatch(&delivery{kind: "interactive", name: "view_submission", id: id, payload: out, accepts: true, form: v})
	return id
}

// filledIn is what Slack says of a field that was filled in.
func filledIn(e obj, given string, touched bool) reply {
	out := reply{"type": e.str("type")}
	switch e.str("type") {
	case "plain_text_input":
		out["value"] = nil
		if !touched {
			given = e.str("initial_value")
		}
		if given != "" {
			out["value"] = given
		}
	case "static_select":
		out["selected_option"] = nil
		if first, ok := e.child("initial_option"); ok {
			out["selected_option"] = first
		}
		if touched {
			out["selected_option"] = option(e, given)
		}
	case "checkboxes":
		ticked := e.list("initial_options")
		if touched && given == "yes" {
			ticked = e.list("options")
		} else if touched {
			ticked = nil
		}
		out["selected_options"] = append([]any{}, ticked...)
	default:
		panic("fakeslack: nobody fills in a " + e.str("type"))
	}
	return out
}

func option(e obj, text string) obj {
	for _, o := range e.list("options") {
		m, _ := o.(map[string]any)
		if t, _ := obj(m).child("text"); t.str("text") == text {
			return m
		}
	}
	panic("fakeslack: no option " + text)
}

// sentOff is what becomes of a modal when the app has acknowledged it.
func (s *Server) sentOff(v *View, response json.RawMessage) {
	if len(response) == 0 {
		v.Closed, v.Errors = true, nil
		return
	}
	var r struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
	}
	if err := json.Unmarshal(response, &r); err != nil || r.Action != "errors" || len(r.Errors) == 0 {
		s.violate("socket", "a view_submission is answered with "+string(response))
		return
	}
	var in struct{ Blocks []obj }
	_ = json.Unmarshal(v.Raw, &in) // it was read before
	for id, text := range r.Errors {
		if text == "" || !slices.ContainsFunc(in.Blocks, func(b obj) bool { return b.str("type") == "input" && b.str("block_id") == id }) {
			s.violate("socket", "an error of a block that is no input: "+id)
		}
	}
	v.Errors = r.Errors
}
