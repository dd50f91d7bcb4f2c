// Package demo is a small script in the place of a model. It lets `bot chat` show
// steps, parallel tool calls and approvals with no account and no network. It says
// of itself that it is a script.
//
// It looks for a few things in a person's message (arithmetic, questions for the
// time, names of tools), calls tools for them, and reads the results out. The same
// request always gives the same response. It knows a tool only by its definition in
// the request.
package demo

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"nod/llm"
)

// New returns the demo model. It has no state, and no way to fail but a
// context that is done.
func New() llm.Model { return model{} }

type model struct{}

// Paced is a model that watches its own words: each piece is followed by a pause,
// as people are used to of language models.
func Paced(next llm.Model, pause time.Duration) llm.Model { return paced{next, pause} }

type paced struct {
	llm.Model
	pause time.Duration
}

// Complete implements llm.Model.
func (p paced) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (llm.Response, error) {
	if watch == nil {
		return p.Model.Complete(ctx, req, nil)
	}
	return p.Model.Complete(ctx, req, func(d llm.Delta) {
		watch(d)
		select {
		case <-ctx.Done():
		case <-time.After(p.pause):
		}
	})
}

// Complete implements llm.Model.
func (model) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (llm.Response, error) {
	resp := respond(req)
	if watch != nil {
		for _, w := range strings.SplitAfter(resp.Reasoning, " ") {
			watch(llm.Delta{Reasoning: w})
		}
		for _, w := range strings.SplitAfter(resp.Text, " ") {
			watch(llm.Delta{Text: w})
		}
	}
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	return resp, nil
}

func respond(req llm.Request) llm.Response {
	if text, ok := aside(req.Messages); ok {
		return llm.Response{Text: text, Finish: "stop"}
	}
	c := read(req.Messages)
	if req.NoCalls {
		req.Tools = nil
	}
	fresh := makePlan(c.fresh, req.Tools)
	if len(fresh.calls) == 0 {
		return llm.Response{Text: answer(c, makePlan(c.asked, req.Tools), req.Tools), Finish: "stop"}
	}
	resp := llm.Response{Finish: "tool_calls"}
	for i, k := range fresh.calls {
		args, _ := json.Marshal(k.args) // strings, numbers and JSON always marshal
		resp.Calls = append(resp.Calls, llm.Call{ID: "demo-" + strconv.Itoa(i+1), Name: k.tool, Args: string(args)})
		if !strings.HasSuffix(resp.Reasoning, k.why) {
			resp.Reasoning = strings.TrimSpace(resp.Reasoning + " " + k.why)
		}
	}
	return resp
}

// Strategies ask for more than answers: a plan, a check. The demo recognises such an
// order by its first words, at the end of the last message.
var asides = map[string]string{
	"Write a plan for answering":    "1. Find the tool that fits what was asked.\n2. Call it, and read out what it says.",
	"Check the last answer against": "PASS",
	"The person was not satisfied":  "I can only do what my script says; I will do it once more.",
	"Write down what was said":      "People tried the demo, which called its tools for them.",
}

// aside answers such an order; ok is false for anything else.
func aside(msgs []llm.Message) (text string, ok bool) {
	if len(msgs) == 0 {
		return "", false
	}
	last := "\n\n" + msgs[len(msgs)-1].Text
	for order, text := range asides {
		if strings.Contains(last, "\n\n"+order) {
			return text, true
		}
	}
	return "", false
}

// conversation is the part of a prompt that a script can make use of.
type conversation struct {
	first bool     // nothing was answered before
	asked string   // messages since the last answer, and the text that this answer asked about
	fresh string   // the part of it after the last tool calls
	done  []result // results of the tool calls since the last answer
}

type result struct {
	call llm.Call
	text string
}

func read(msgs []llm.Message) conversation {
	c := conversation{first: true}
	var before string // the messages before the last answer, if that asked back
	calls := map[string]llm.Call{}
	for _, m := range msgs {
		switch {
		case m.Role == llm.User && !strings.HasPrefix(m.Text, "["): // else nod's own note
			c.asked = strings.TrimPrefix(c.asked+"\n"+m.Text, "\n")
			c.fresh = strings.TrimPrefix(c.fresh+"\n"+m.Text, "\n")
		case m.Role == llm.Assistant && len(m.Calls) > 0:
			c.fresh = ""
			for _, k := range m.Calls {
				calls[k.ID] = k
			}
		case m.Role == llm.Assistant:
			before = ""
			if strings.Contains(m.Text, needs) && len(calls) == 0 {
				before = c.asked
			}
			c = conversation{asked: before, fresh: before}
			clear(calls)
		case m.Role == llm.ToolRole:
			if k, ok := calls[m.CallID]; ok {
				c.done = append(c.done, result{k, m.Text})
			}
		}
	}
	if c.asked == before { // nobody has answered the demo's question
		c.fresh = ""
	}
	return c
}

// quote sets a name or a value apart in Markdown.
func quote(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }
