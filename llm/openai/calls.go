package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"nod/llm"
)

// wireCall is a tool call, or a piece of one.
type wireCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name string    `json:"name"`
		Args arguments `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"` // Gemini's signature
}

// arguments is a JSON string by the book, and the object itself with some.
type arguments string

// UnmarshalJSON implements json.Unmarshaler.
func (a *arguments) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil { // null too
		*a = arguments(s)
		return nil
	}
	var flat bytes.Buffer
	if err := json.Compact(&flat, data); err != nil {
		return err
	}
	*a = arguments(flat.String())
	return nil
}

// calls puts tool calls together from pieces. The index says which piece
// belongs to which call; where it is missing, or the same for all, the id and
// the name do.
type calls []*partCall

type partCall struct {
	index *int
	id    string
	name  string
	args  strings.Builder
	extra json.RawMessage
}

// add takes in the pieces of one delta. offered are the tools that can be called.
func (c *calls) add(pieces []wireCall, offered []llm.Tool) {
	touched := map[*partCall]bool{}
	for _, p := range pieces {
		call := c.find(p)
		if call != nil && call.spells(p, offered) {
			call.name += p.Function.Name
			p.Function.Name = ""
		}
		if call == nil || call.complete(p) || touched[call] && p.Function.Name != "" {
			call = &partCall{index: p.Index, id: p.ID}
			*c = append(*c, call)
		}
		touched[call] = true
		call.id = cmp.Or(call.id, p.ID)
		call.name = cmp.Or(call.name, p.Function.Name)
		if present(p.Extra) {
			call.extra = p.Extra
		}
		call.args.WriteString(string(p.Function.Args))
	}
}

// find gives the call to which a piece belongs as far as index and id say; the
// latest, since some begin every call with index 0.
func (c *calls) find(p wireCall) *partCall {
	for i := len(*c) - 1; i >= 0; i-- {
		call := (*c)[i]
		switch {
		case p.Index != nil && call.index != nil && *p.Index == *call.index,
			(p.Index == nil || call.index == nil) && p.ID != "" && p.ID == call.id:
			return call
		}
	}
	if p.Index == nil && (p.ID == "" || p.Function.Name == "") && len(*c) > 0 {
		return (*c)[len(*c)-1]
	}
	return nil
}

// complete says that the piece begins another call although index or id are
// the same: it brings a name, and either another id or arguments after ones
// that are whole. A name alone does not: some repeat it in every piece.
func (call *partCall) complete(p wireCall) bool {
	if p.Function.Name == "" || call.name == "" {
		return false
	}
	if p.ID != "" && call.id != "" && p.ID != call.id {
		return true
	}
	if p.Function.Name != call.name {
		return true
	}
	if call.args.String() == "{}" && p.ID != "" {
		return false // some begin each call with it
	}
	return p.Function.Args != "" && json.Valid([]byte(call.args.String()))
}

// spells says that the piece goes on with the name of the call, which comes in pieces as
// its arguments do: it is no tool's name, and together they begin one.
func (call *partCall) spells(p wireCall, offered []llm.Tool) bool {
	if call.name == "" || p.Function.Name == "" || call.args.Len() > 0 || p.ID != "" && p.ID != call.id {
		return false
	}
	begins := false
	for _, t := range offered {
		if t.Name == p.Function.Name {
			return false
		}
		begins = begins || strings.HasPrefix(t.Name, call.name+p.Function.Name)
	}
	return begins
}

// nameless stands for the missing name of a call. No tool has it, so the model is told
// that there is no such tool.
const nameless = "(no name)"

// finish gives the calls, each with an id that no other has.
func (c calls) finish(newID func() string) []llm.Call {
	var out []llm.Call
	seen := map[string]bool{"": true}
	for _, call := range c {
		if call.name == "" {
			if call.args.Len() == 0 {
				continue
			}
			call.name = nameless
		}
		for seen[call.id] {
			call.id = newID()
		}
		seen[call.id] = true
		out = append(out, llm.Call{ID: call.id, Name: call.name, Args: call.args.String()})
	}
	return out
}
