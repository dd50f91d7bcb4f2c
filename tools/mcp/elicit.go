package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/chat"
	"nod/chat/patience"
	"nod/chat/question"
	"nod/llm"
	"nod/llm/args"
	"nod/tools"
	"nod/tools/mcp/wire"
)

// A server may ask the person for whom a call runs something, in the middle of it
// (https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation). All
// calls of all threads share a session, and such a request does not say which call it
// is of. Asking the wrong person would be worse than asking nobody. With the newest
// version of the protocol the request is part of the call's own answer; over HTTP it
// comes on the stream that answers the call, which is marked in it on the way in; on
// standard output it is of the only call that runs, once there is but one, and where
// there soon is not it is declined.

// callMeta is where a request that came on the stream of a call bears its number.
const callMeta = "nod/call"

// running is one attempt at a call, which may ask.
type running struct {
	id      string
	in      tools.Input
	limit   *patience.Limit
	session *sdk.ClientSession
	ctx     context.Context
	begun   time.Time

	// Of an attempt over HTTP, seen where it goes out. The SDK's errors don't tell: when a
	// session is lost, all running calls get the error of the refused one.
	sent    atomic.Bool
	refused atomic.Pointer[trouble] // the server's refusal of this very call

	asked atomic.Bool  // the server asked a person something for it, and so had begun
	asks  atomic.Int32 // questions that wait for their answer

	mu    sync.Mutex
	notes []string // what was asked, for the model
}

// undone says that nothing was done for certain: the call was refused, or never
// went out. With the newest version of the protocol it goes out once more with each
// answer of a person's, and a refusal of that is none of the call.
func (r *running) undone() bool {
	refused := r.refused.Load()
	return !r.asked.Load() && (!r.sent.Load() || refused != nil && refused.undone)
}

// calls are those that run.
type calls struct {
	mu      sync.Mutex
	list    map[string]*running
	changed bell
	n       int
}

// begin notes that a call runs, until end is called.
func (c *calls) begin(r *running) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	r.id = fmt.Sprintf("%d", c.n)
	if c.list == nil {
		c.list = map[string]*running{}
	}
	c.list[r.id] = r
	c.changed.ring()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.list, r.id)
		c.changed.ring()
	}
}

// bell wakes who waits for a change. A lock guards it.
type bell chan struct{}

func (b *bell) ring() {
	if *b != nil {
		close(*b)
	}
	*b = make(bell)
}

// marked finds the call of which a request bears the number.
func (c *calls) marked(id any) *running {
	name, ok := id.(string)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list[name]
}

// only waits until one running call of a session is left, and returns it: the asking
// call waits for the answer, and so does not end. nil: none is left.
func (c *calls) only(ctx context.Context, session *sdk.ClientSession) *running {
	c.mu.Lock()
	var left []*running
	for _, r := range c.list {
		if r.session == session && r.asks.Load() == 0 {
			left = append(left, r)
		}
	}
	c.mu.Unlock()
	for {
		c.mu.Lock()
		left = slices.DeleteFunc(left, func(r *running) bool { return c.list[r.id] != r })
		changed := c.changed
		c.mu.Unlock()
		switch len(left) {
		case 0:
			return nil
		case 1:
			return left[0]
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// note keeps for the model what was asked, and what came of it.
func (r *running) note(format string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, "["+fmt.Sprintf(format, a...)+"]")
}

// noted is a result with the questions asked on the way.
func (r *running) noted(out llm.Result) llm.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.notes) > 0 {
		out.Text = strings.TrimSpace(strings.Join(r.notes, "\n") + "\n" + out.Text)
	}
	return out
}

// runningKey is the context key of the running call. The SDK makes the HTTP request and
// hands over the server's question; only a context passes through it.
type runningKey struct{}

func runningOf(ctx context.Context) *running {
	r, _ := ctx.Value(runningKey{}).(*running)
	return r
}

// elicit answers a server that asks. Whatever can't be asked is declined: an error
// would end some servers' calls.
func (s *server) elicit(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	declined := &sdk.ElicitResult{Action: "decline"}
	if req.Params == nil {
		return declined, nil
	}
	r := runningOf(ctx)
	if r == nil && s.web != nil {
		r = s.calls.marked(req.Params.Meta[callMeta])
	} else if r == nil {
		soon, cancel := context.WithTimeout(ctx, s.pace.whom)
		r = s.calls.only(soon, req.Session)
		cancel()
	}
	if r == nil {
		s.log.Info("an mcp server asked a person something, and it is not known whom", "server", s.Name)
		return declined, nil
	}
	r.asked.Store(true)
	q, err := s.question(req.Params)
	return s.asked(ctx, r, q, err)
}

// asked puts a question to the person, unless an error says why not, and gives the answer.
func (s *server) asked(ctx context.Context, r *running, q chat.Question, err error) (*sdk.ElicitResult, error) {
	var a chat.Answer
	if err == nil {
		a, err = s.put(ctx, r, q)
	}
	if err != nil {
		r.note("%s wanted to ask a person something and was declined: %v", s.Name, err)
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	return s.tellAnswer(r, q, a)
}

// question is a server's question, if it can be asked.
func (s *server) question(p *sdk.ElicitParams) (q chat.Question, err error) {
	if p.Mode != "" && p.Mode != "form" {
		return q, errors.New("it would send people to an address, which is not possible here")
	}
	if strings.TrimSpace(p.Message) == "" {
		return q, errors.New("it does not say what it wants to know")
	}
	if len(p.Message) > question.MostText {
		return q, fmt.Errorf("its question is longer than %d bytes", question.MostText)
	}
	if err := question.AsksSecret(p.Message); err != nil {
		return q, err
	}
	q = chat.Question{From: s.Name, Text: p.Message}
	if p.RequestedSchema != nil {
		raw, err := json.Marshal(p.RequestedSchema)
		if err != nil {
			return q, errors.New("what it asks for can't be read")
		}
		q.Schema = string(raw)
	}
	if _, err := question.Fields(q.Schema); err != nil {
		return q, err
	}
	if _, err := args.Compile(json.RawMessage(q.Schema)); err != nil {
		return q, errors.New("what it asks for can't be read")
	}
	return q, nil
}

// put asks the person, for as long as the call runs and the server wants to know.
// While they are waited for the call's limit stands still.
func (s *server) put(ctx context.Context, r *running, q chat.Question) (chat.Answer, error) {
	if r.in.Ask == nil {
		return chat.Answer{}, errors.New("there is nobody to ask")
	}
	both, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	defer r.limit.Pause()() // a task has none
	r.asks.Add(1)
	defer r.asks.Add(-1)
	begun := time.Now()
	a, err := r.in.Ask(both, q)
	s.log.Info("an mcp server asked a person something", "server", s.Name, "outcome", string(a.How), "took", time.Since(begun).String())
	return a, err
}

// tellAnswer sends the server the outcome of its question, and notes it for the model.
func (s *server) tellAnswer(r *running, q chat.Question, a chat.Answer) (*sdk.ElicitResult, error) {
	asked := strings.Join(strings.Fields(q.Text), " ")
	switch a.How {
	case chat.Accepted:
		out := &sdk.ElicitResult{Action: "accept", Content: map[string]any{}}
		if err := json.Unmarshal([]byte(a.Values), &out.Content); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer can't be read"}
		}
		r.note("%s asked %s: %q, who answered; only the server has the answer", s.Name, a.By.Display(), asked)
		return out, nil
	case chat.Dropped:
		r.note("%s asked: %q, and the question was withdrawn", s.Name, asked)
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case chat.Declined:
		r.note("%s asked %s: %q, who declined", s.Name, a.By.Display(), asked)
	default:
		r.note("%s asked: %q, and there was no answer in time", s.Name, asked)
	}
	return &sdk.ElicitResult{Action: "decline"}, nil
}

// withCall is a message that came on the stream of a call, with the call's number in it
// where it asks a person something. What the server wrote in its place is taken out.
func withCall(message []byte, call *running) []byte {
	return wire.Edit(message, func(m map[string]any) bool {
		params, ok := m["params"].(map[string]any)
		if m["method"] != "elicitation/create" || !ok {
			return false
		}
		id := ""
		if call != nil {
			id = call.id
		}
		wire.SetMeta(params, callMeta, id)
		return true
	})
}
