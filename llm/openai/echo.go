package openai

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"nod/llm"
)

// echo is the content of an [llm.Echo]: fields beside text and calls that a provider
// wants back within the turn, since models that think between tools continue from
// there. Providers differ in the field; some sign it, and some refuse foreign fields.
// So it goes back unchanged to its provider, and after a first refusal not at all.
type echo struct {
	From   string                     `json:"from"`             // which model, and where
	Fields map[string]json.RawMessage `json:"fields,omitempty"` // of the message
	Extra  []json.RawMessage          `json:"extra,omitempty"`  // extra_content of each call (Gemini)
	IDs    []string                   `json:"ids,omitempty"`    // of the calls, where something is bound to them
	Items  []json.RawMessage          `json:"items,omitempty"`  // of the Responses API
}

// padding stands for a reasoning that is not there, for providers that insist on
// one beside every call. Some of them refuse an empty one.
const padding = " "

// from names the model, without a password in its URL.
func (m *Model) from() string {
	host := "api.openai.com"
	if u, err := url.Parse(m.o.BaseURL); err == nil && u.Host != "" {
		host = u.Host
	}
	return host + " " + m.o.Model
}

// echoed reads a message's echo; nil without one.
func (m *Model) echoed(msg llm.Message, lim limits) *echo {
	if len(msg.Echo) == 0 {
		return nil
	}
	var e echo
	if lim.has(noReasoning) || json.Unmarshal(msg.Echo, &e) != nil || e.From != m.from() {
		return nil
	}
	return &e
}

// pack writes an echo, unless it is empty or too big.
func (e echo) pack(most int) llm.Echo {
	if len(e.Fields) == 0 && len(e.Items) == 0 && !slices.ContainsFunc(e.Extra, present) {
		return nil
	}
	raw, err := json.Marshal(e)
	if err != nil || len(raw) > most {
		return nil
	}
	return raw
}

// reasoned gathers the echo of a completion.
type reasoned struct {
	texts   map[string]*strings.Builder // by field
	details []map[string]json.RawMessage
}

// add takes in a message, or a piece of one.
func (r *reasoned) add(m *message) {
	r.addField("reasoning_content", m.ReasoningContent)
	r.addField("reasoning", m.Reasoning)
	for _, raw := range m.Details {
		r.detail(raw)
	}
}

// addField adds to a field. An empty field goes back too: some providers insist on
// that.
func (r *reasoned) addField(field string, c *content) {
	if c == nil {
		return
	}
	if r.texts[field] == nil {
		r.texts[field] = new(strings.Builder)
	}
	r.texts[field].WriteString(c.text)
}

// detail adds an entry of reasoning_details. In a stream an entry comes in
// pieces, of which only the texts are continued.
func (r *reasoned) detail(raw json.RawMessage) {
	var d map[string]json.RawMessage
	if json.Unmarshal(raw, &d) != nil || d == nil {
		return
	}
	n := len(r.details)
	if n == 0 || !continues(r.details[n-1], d) {
		r.details = append(r.details, d)
		return
	}
	last := r.details[n-1]
	for key, value := range d {
		switch {
		case string(value) == "null":
		case key == "text" || key == "summary":
			last[key] = concat(last[key], value)
		default:
			last[key] = value
		}
	}
}

func continues(last, next map[string]json.RawMessage) bool {
	kind := string(next["type"])
	if kind != `"reasoning.text"` && kind != `"reasoning.summary"` {
		return false
	}
	sameID := !present(last["id"]) || !present(next["id"]) || bytes.Equal(last["id"], next["id"])
	return kind == string(last["type"]) && bytes.Equal(last["index"], next["index"]) && sameID
}

// concat joins two JSON strings.
func concat(a, b json.RawMessage) json.RawMessage {
	var x, y string
	if json.Unmarshal(a, &x) != nil {
		return b
	}
	if json.Unmarshal(b, &y) != nil {
		return a
	}
	return jsonText(x + y)
}

// jsonText is a string as JSON.
func jsonText(s string) json.RawMessage {
	raw, _ := json.Marshal(s) // strings always marshal
	return raw
}

// fields gives the echo's fields of a message.
func (r *reasoned) fields() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for field, b := range r.texts {
		out[field] = jsonText(b.String())
	}
	if len(r.details) > 0 {
		if raw, err := json.Marshal(r.details); err == nil {
			out["reasoning_details"] = raw
		}
	}
	return out
}

// bound lists the ids of calls when a field names one of them: a signature is
// of no use beside another id.
func bound(fields map[string]json.RawMessage, calls []llm.Call) []string {
	var out []string
	named := false
	for _, c := range calls {
		out = append(out, c.ID)
		named = named || c.ID != "" && bytes.Contains(fields["reasoning_details"], jsonText(c.ID))
	}
	if !named {
		return nil
	}
	return out
}

// reidentified gives the calls of messages the ids to which something in their
// echo is bound, and the results with them.
func (m *Model) reidentified(messages []llm.Message, lim limits) []llm.Message {
	if !slices.ContainsFunc(messages, func(m llm.Message) bool { return len(m.Echo) > 0 }) {
		return messages
	}
	ids := map[string]string{}
	out := make([]llm.Message, len(messages))
	for i, msg := range messages {
		if e := m.echoed(msg, lim); e != nil && len(e.IDs) > 0 {
			msg.Calls = append([]llm.Call(nil), msg.Calls...)
			for k := range msg.Calls {
				if k < len(e.IDs) {
					ids[msg.Calls[k].ID] = e.IDs[k]
					msg.Calls[k].ID = e.IDs[k]
				}
			}
		}
		if id := ids[msg.CallID]; id != "" {
			msg.CallID = id
		}
		out[i] = msg
	}
	return out
}
