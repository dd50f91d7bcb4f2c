package attack

import (
	"encoding/json"
	"fmt"
	"strings"

	"nod/internal/fakellm"
)

// over is the model's last word.
const over = "All of it was done that could be."

// complete is the model: it does the next thing of the case that is played.
func (w *World) complete(fakellm.Request) fakellm.Reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now == nil {
		return says(w.o, 1, nil)
	}
	c := w.now.calls()
	return says(w.o, w.now.next, c)
}

// says is how the model writes a call in a protocol, the k-th; its answer where
// there is none.
func says(o Options, k int, c *Call) fakellm.Reply {
	protocol := o.Protocol
	if c == nil {
		switch protocol {
		case "react":
			return fakellm.Reply{Text: " That was it.\nFinal Answer: " + over}
		case "numbered":
			return fakellm.Reply{Text: fmt.Sprintf(" That was it.\nAction %d: Finish[%s]", k+1, over)}
		}
		return fakellm.Reply{Text: over}
	}
	name, args := server+"_"+c.Tool, compact(c.Args)
	if o.Find == "always" {
		name, args = "use_tool", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)
	}
	switch protocol {
	case "react":
		return fakellm.Reply{Text: fmt.Sprintf(" I do the next thing.\nAction: %s\nAction Input: %s\n", name, args)}
	case "numbered":
		return fakellm.Reply{Text: fmt.Sprintf(" I do the next thing.\nAction %d: %s[%s]\n", k, strings.ToUpper(name[:1])+name[1:], args)}
	}
	return fakellm.Reply{Calls: []fakellm.Call{{Name: name, Args: args}}}
}

// compact is a JSON value on one line with its members in order, so that equal
// values are equal texts.
func compact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}
