package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/chat"
	"nod/llm"
	"nod/tools"
	"nod/tools/mcp/wire"
)

// A call may outlive the process that makes it in two ways. A server answers with a task
// (https://modelcontextprotocol.io/seps/2663-tasks-extension), and is asked for its end. Or
// it answers with questions, and gets the same call once more with the answers
// (https://modelcontextprotocol.io/seps/2322-MRTR). Either way a handle goes into the log
// first. The protocol of 2025-11-25 has tasks in its core, and their result has a method of
// its own; their questions come as in any other call of that version.

// tasksExtension is the name of the extension, which the client says that it knows.
const tasksExtension = "io.modelcontextprotocol/tasks"

// handle is the handle of a call that goes on.
type handle struct {
	Task     string   `json:"task,omitempty"`
	State    string   `json:"state,omitempty"`    // of the server: it gets this with the answers
	Keys     []string `json:"keys,omitempty"`     // of the questions that wait, in their order
	Declined []string `json:"declined,omitempty"` // of those beside them that nobody may be asked
	Done     []string `json:"done,omitempty"`     // of a task's earlier questions
	Asked    int      `json:"asked,omitempty"`    // how many questions came in all
	Notes    []string `json:"notes,omitempty"`
}

// handleOf reads the handle of a call; the zero handle is that of a call that begins.
func handleOf(in tools.Input) (h handle, err error) {
	if in.Resumes == nil {
		return h, nil
	}
	if err = json.Unmarshal([]byte(in.Resumes.Key), &h); err == nil && len(h.Keys) != len(in.Resumes.Asks) {
		err = errors.New("it is of other questions")
	}
	return h, err
}

// held is the handle as the log keeps it.
func (h handle) held(s *server, asks []chat.Question) chat.Handle {
	raw, err := json.Marshal(h)
	if err != nil {
		panic(err) // it holds nothing but texts
	}
	return chat.Handle{Key: string(raw), Server: s.Name, Repeats: h.Task != "", Asks: asks}
}

// taskParams and task are the messages about tasks, in both versions of the protocol.
type (
	taskParams struct {
		sdk.ParamsBase
		TaskID         string               `json:"taskId"`
		InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
	}
	task struct {
		sdk.ResultBase
		Status         string              `json:"status"`
		PollIntervalMs int64               `json:"pollIntervalMs"`
		PollInterval   int64               `json:"pollInterval"`
		Result         json.RawMessage     `json:"result"`
		Error          *jsonrpc.Error      `json:"error"`
		InputRequests  sdk.InputRequestMap `json:"inputRequests"`
	}
	// taskCall asks a server of 2025-11-25 to run a call as a task.
	taskCall struct {
		*sdk.CallToolParams
		Task struct{} `json:"task"`
	}
)

// knowTasks teaches the SDK the methods of tasks.
func knowTasks(c *sdk.Client) error {
	c.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			session, _ := req.GetSession().(*sdk.ClientSession)
			if p, ok := req.GetParams().(*sdk.CallToolParams); ok && p.Meta[wire.TaskMeta] == true {
				delete(p.Meta, wire.TaskMeta)
				req = &sdk.ClientRequest[*taskCall]{Session: session, Params: &taskCall{CallToolParams: p}}
			}
			return next(ctx, method, req)
		}
	})
	return errors.Join(
		sdk.AddSendingCustomMethod[*taskParams, *task](c, "tasks/get"), sdk.AddSendingCustomMethod[*taskParams, *task](c, "tasks/cancel"),
		sdk.AddSendingCustomMethod[*taskParams, *task](c, "tasks/update"), sdk.AddSendingCustomMethod[*taskParams, *sdk.CallToolResult](c, "tasks/result"),
	)
}

// taskOf is the id of the task that a result is; "" where it is none.
func taskOf(r *sdk.CallToolResult) string {
	if r == nil {
		return ""
	}
	id, _ := r.Meta[wire.TaskMeta].(string)
	return id
}

// mostRounds is how often a server may ask for a call once more.
const mostRounds = 10

// rounds calls a tool, and again with the answers that its server wants. There is no
// result where the call is held until people have answered.
func (s *server) rounds(ctx context.Context, run *running, now []Definition, o offer, h *handle) (*sdk.CallToolResult, error) {
	responses := s.responses(run, h)
	for round := 1; ; round++ {
		p := &sdk.CallToolParams{
			Meta: sdk.Meta{keyMeta: keyOf(run.in.Key)}, Name: o.d.Name, Arguments: run.in.Args, InputResponses: responses, RequestState: h.State,
		}
		if d, _ := byName(now, o.d.Name); d.Task && older(run.session) {
			p.Meta[wire.TaskMeta] = true
		}
		r, err := run.session.CallTool(ctx, p)
		if err != nil || r.InputRequests == nil || round == mostRounds {
			return r, err
		}
		run.asked.Store(true)
		h.State = r.RequestState
		var held bool
		if responses, held = s.questions(ctx, run, h, r.InputRequests); held {
			return nil, nil
		}
	}
}

// older says whether a session speaks a version before 2026-07-28.
func older(session *sdk.ClientSession) bool {
	about := session.InitializeResult()
	return about == nil || about.ProtocolVersion < "2026-07-28"
}

// questions sorts the requests of a server. It holds the call where people have to be
// asked, or else gives the answers.
func (s *server) questions(ctx context.Context, run *running, h *handle, reqs sdk.InputRequestMap) (answers sdk.InputResponseMap, held bool) {
	h.Keys, h.Declined, answers = nil, nil, sdk.InputResponseMap{}
	var asks []chat.Question
	for _, key := range slices.Sorted(maps.Keys(reqs)) {
		p, ok := reqs[key].(*sdk.ElicitParams)
		if slices.Contains(h.Done, key) {
			continue
		}
		q, err := chat.Question{}, errors.New("it asks for something else than an answer")
		if ok {
			q, err = s.question(p)
		}
		if h.Asked++; h.Asked > chat.MostQuestions && err == nil {
			err = errors.New("it has asked as often as it may in one call")
		}
		if err == nil && run.in.Hold != nil {
			h.Keys, asks = append(h.Keys, key), append(asks, q)
			continue
		}
		if answers[key], err = s.asked(ctx, run, q, err); err != nil {
			answers[key] = &sdk.ElicitResult{Action: "decline"}
		}
		h.Declined = append(h.Declined, key)
	}
	if len(asks) == 0 {
		return answers, false
	}
	h.Notes = run.notes
	run.in.Hold(h.held(s, asks))
	return nil, true
}

// responses are the answers that people gave while the call was held.
func (s *server) responses(run *running, h *handle) sdk.InputResponseMap {
	if run.in.Resumes == nil || len(h.Keys)+len(h.Declined) == 0 {
		return nil
	}
	out := sdk.InputResponseMap{}
	for _, key := range h.Declined {
		out[key] = &sdk.ElicitResult{Action: "decline"}
	}
	for i, q := range run.in.Resumes.Asks {
		r, err := s.tellAnswer(run, q, run.in.Resumes.Answers[i])
		if err != nil {
			r = &sdk.ElicitResult{Action: "decline"}
		}
		out[h.Keys[i]] = r
	}
	h.Done = slices.Concat(h.Done, h.Keys, h.Declined)
	return out
}

// await asks for a task until it ends. A server that is away is waited for.
func (s *server) await(ctx context.Context, o offer, in tools.Input, h handle, since time.Time) (llm.Result, error) {
	run := &running{in: in, ctx: ctx, notes: h.Notes}
	if in.Resumes != nil && in.Resumes.Stop {
		return run.noted(s.stopTask(ctx, o, in, h, "was stopped")), nil
	}
	ctx, cancel := context.WithDeadlineCause(ctx, since.Add(s.TaskTimeout), errSlow)
	defer cancel()
	run.ctx = ctx
	answers := s.responses(run, &h)
	for {
		t, err := s.look(ctx, run, h, answers)
		var said *jsonrpc.Error
		switch {
		case errors.Is(context.Cause(ctx), errSlow):
			return run.noted(s.stopTask(ctx, o, in, h, "took longer than "+s.TaskTimeout.String()+" and was given up")), nil
		case ctx.Err() != nil:
			return tools.Failed("%s was stopped; what it had begun may be done in part or as a whole", o.as), context.Cause(ctx)
		case errors.As(err, &said) && slices.Contains(ofRequests, said.Code):
			return unknown(o, "its server "+s.Name+" does not know its task any more"), nil
		case err == nil:
			answers = nil
			if r := s.ended(ctx, run, o, t); r != nil {
				return run.noted(*r), nil
			}
			if t.Status == "input_required" {
				var held bool
				if answers, held = s.questions(ctx, run, &h, t.InputRequests); held {
					return llm.Result{}, nil
				}
				h.Done = append(h.Done, h.Declined...)
			}
		}
		wait := 10 * s.pace.least
		if t != nil {
			wait = max(s.pace.least, min(s.pace.most, cmp.Or(time.Duration(cmp.Or(t.PollIntervalMs, t.PollInterval))*time.Millisecond, wait)))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// look asks once how a task stands, and hands over answers first.
func (s *server) look(ctx context.Context, run *running, h handle, answers sdk.InputResponseMap) (*task, error) {
	l, err := s.connected(ctx, nil)
	if err != nil {
		return nil, err
	}
	run.session = l.session
	if len(answers) > 0 {
		_, err := sdk.CallCustomMethod[*taskParams, *task](ctx, l.session, "tasks/update", &taskParams{TaskID: h.Task, InputResponses: answers})
		if _, _, said := answered(err); err != nil && !said {
			return nil, err
		}
	}
	t, err := sdk.CallCustomMethod[*taskParams, *task](ctx, l.session, "tasks/get", &taskParams{TaskID: h.Task})
	if err != nil || !older(l.session) || t.Status == "working" || t.Status == "cancelled" {
		return t, err
	}
	defer s.calls.begin(run)() // questions of the task come on the way of its result
	r, err := sdk.CallCustomMethod[*taskParams, *sdk.CallToolResult](context.WithValue(ctx, runningKey{}, run), l.session, "tasks/result", &taskParams{TaskID: h.Task})
	if errors.As(err, &t.Error) {
		t.Status = "failed"
		return t, nil
	}
	if err == nil {
		t.Status = "completed"
		t.Result, err = json.Marshal(r)
	}
	return t, err
}

// ended is the result of a task that is over; nil while it goes on.
func (s *server) ended(ctx context.Context, run *running, o offer, t *task) *llm.Result {
	var out llm.Result
	switch t.Status {
	case "completed":
		var whole struct {
			Result *sdk.CallToolResult `json:"result"`
		}
		raw := slices.Concat([]byte(`{"result":`), t.Result, []byte(`}`))
		if json.Unmarshal(wire.Tidy(raw), &whole) != nil || whole.Result == nil {
			out = unknown(o, "its server "+s.Name+" says that it is done, and gives no result")
		} else {
			out = result(o, run.in, whole.Result, s.fetched(ctx, run.session, whole.Result))
		}
	case "failed":
		said := "it does not say why"
		if t.Error != nil {
			said, _, _ = answered(t.Error)
		}
		out = tools.Failed("%s failed, and what it had begun may be done in part or as a whole; the server %s says:\n%s", o.as, s.Name, said)
	case "cancelled":
		out = tools.Failed("%s was cancelled at its server %s; what it had begun may be done in part", o.as, s.Name)
	default:
		return nil
	}
	return &out
}

// stopTask has the server end a task, and gives its result where it was over already.
func (s *server) stopTask(ctx context.Context, o offer, in tools.Input, h handle, what string) llm.Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.pace.patient)
	defer cancel()
	run := &running{in: in, ctx: ctx}
	l, err := s.connected(ctx, nil)
	if err == nil {
		_, err = sdk.CallCustomMethod[*taskParams, *task](ctx, l.session, "tasks/cancel", &taskParams{TaskID: h.Task})
	}
	if _, _, said := answered(err); err != nil && !said {
		return unknown(o, "it "+what+", and its server "+s.Name+" could not be told")
	}
	if t, err := s.look(ctx, run, h, nil); err == nil && t.Status == "completed" {
		return *s.ended(ctx, run, o, t)
	}
	return tools.Failed("%s %s, and its server %s was told to end it; what it had begun may be done in part or as a whole", o.as, what, s.Name)
}

// unknown is the result of a call of which nobody knows whether it was done.
func unknown(o offer, why string) llm.Result {
	r := tools.Failed("outcome unknown: %s was begun, and %s. Whether it was done is not known: look before you do it again.", o.as, why)
	r.Unknown = true
	return r
}
