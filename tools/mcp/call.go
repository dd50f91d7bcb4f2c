package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/llm"
	"nod/tools"
)

// keyMeta is where a server that knows it finds the key that every attempt at a
// call has in common.
const keyMeta = "nod/idempotencyKey"

// call performs one call. What it says to the model tells apart whether nothing
// was done, or nobody knows.
func (s *server) call(ctx context.Context, o offer, in tools.Input) (llm.Result, error) {
	h, err := handleOf(in)
	switch {
	case err != nil:
		return unknown(o, "its handle can't be read"), nil
	case h.Task != "":
		return s.await(ctx, o, in, h, in.Resumes.Since)
	}
	ctx, limit, stop := s.limit(ctx, s.Timeout, errSlow)
	defer stop()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	go func() {
		select {
		case <-s.closing:
			leave(errClosing)
		case <-ctx.Done():
		}
	}()
	var gone *sdk.ClientSession
	for try := 1; ; try++ {
		l, err := s.ready(ctx, gone)
		if err != nil {
			return s.unavailable(ctx, o, err)
		}
		if off := differs(o.d, l.tools); off != "" {
			return switchedOff(o, off), nil
		}
		run := &running{in: in, limit: limit, session: l.session, ctx: ctx, begun: time.Now(), notes: h.Notes}
		run.asked.Store(h.State != "")
		end := s.calls.begin(run)
		r, err := s.rounds(context.WithValue(ctx, runningKey{}, run), run, l.tools, o, &h)
		end()
		switch id := taskOf(r); {
		case err == nil && r == nil:
			return llm.Result{}, nil // it is held
		case err == nil && id != "":
			h = handle{Task: id, Notes: run.notes}
			if in.Hold != nil {
				in.Hold(h.held(s, nil))
				return llm.Result{}, nil
			}
			defer limit.Pause()()
			return s.await(ctx, o, in, h, time.Now())
		case err == nil:
			return run.noted(result(o, in, r, s.fetched(ctx, l.session, r))), nil
		}
		if ended(err) && run.undone() && try == 1 {
			gone = l.session
			continue
		}
		return s.broken(ctx, o, err, run)
	}
}

// mostLinks is how many resources of one result are read.
const mostLinks = 5

// fetched reads the resources that a result links to, by their addresses: they become
// files of the thread. One that can't be read stays a line of the result.
func (s *server) fetched(ctx context.Context, session *sdk.ClientSession, r *sdk.CallToolResult) map[string][]*sdk.ResourceContents {
	ctx, stop := context.WithTimeout(ctx, s.pace.patient)
	defer stop()
	out := map[string][]*sdk.ResourceContents{}
	about := session.InitializeResult()
	if about == nil || about.Capabilities == nil || about.Capabilities.Resources == nil {
		return nil
	}
	for _, c := range r.Content {
		link, ok := c.(*sdk.ResourceLink)
		if !ok || len(out) == mostLinks {
			continue
		}
		out[link.URI] = nil
		if read, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: link.URI}); err == nil {
			out[link.URI] = read.Contents
		}
	}
	return out
}

// keyOf hides the parts of a call's key: team, channel and thread are no business of a
// server's.
func keyOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// ended says that the session was over: before the call began, or since then.
func ended(err error) bool {
	return errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, sdk.ErrConnectionClosed)
}

// unavailable tells of a call that never began.
func (s *server) unavailable(ctx context.Context, o offer, err error) (llm.Result, error) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSlow) {
		return tools.Failed("%s was not run: it was stopped before it began", o.as), cause
	}
	return tools.Failed("%s was not run: the server %s that does this is not available now (%v). Other arguments won't help; go on without it, and say so, or try again later.", o.as, s.Name, err),
		fmt.Errorf("call mcp server %s: %w", s.Name, err)
}

// broken tells of a call that went out and did not come back with a result.
func (s *server) broken(ctx context.Context, o offer, err error, run *running) (llm.Result, error) {
	if said, undone, ok := answered(err); ok {
		what := "failed, and what it had begun may be done in part or as a whole"
		if undone && !run.asked.Load() {
			what = "was not done"
		}
		return tools.Failed("%s %s; the server %s says:\n%s", o.as, what, s.Name, said), nil
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSlow):
		return tools.Failed("%s took longer than %s and was given up; what it had begun may be done in part or as a whole", o.as, s.Timeout), nil
	case cause != nil:
		return tools.Failed("%s was stopped; what it had begun may be done in part or as a whole", o.as), cause
	}
	reason := why(err)
	refused := run.refused.Load()
	if refused != nil {
		reason = refused
	} else if noted := s.fault.since(run.begun); noted != nil {
		reason = noted
	}
	if tools.Undialled(err) && !run.asked.Load() || run.undone() && (ended(err) || refused != nil) {
		return s.unavailable(ctx, o, reason)
	}
	return tools.Failed("%s broke off before there was an answer: the connection to the server %s failed (%v). Whether it was done is not known: look before you do it again.", o.as, s.Name, reason),
		fmt.Errorf("call mcp server %s: %w", s.Name, reason)
}

// answered gives the words of a server that answers a call with an error, and whether
// that is one of the request. They are for the model only, as they may repeat arguments.
func answered(err error) (said string, undone, ok bool) {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) || answer.Code == codeRejected {
		return "", false, false
	}
	return fmt.Sprintf("%s (code %d)", answer.Message, answer.Code), slices.Contains(ofRequests, answer.Code), true
}

// ofRequests are errors of the request, after which nothing was done. Other errors come
// from servers that broke down, and proxies that stopped waiting.
// https://www.jsonrpc.org/specification#error_object
var ofRequests = []int64{jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams}

// codeRejected is the SDK's code for a message that a transport did not take.
const codeRejected = -32005

// ready returns a connection with its present tools: a call never relies on an older
// list, as a server need not announce a change, and the tool may be another one by now.
// It waits while the server connects, but not for ever; gone is a useless session.
func (s *server) ready(ctx context.Context, gone *sdk.ClientSession) (*live, error) {
	ctx, cancel := context.WithTimeout(ctx, s.pace.patient)
	defer cancel()
	for {
		l, err := s.connected(ctx, gone)
		if err != nil {
			return nil, err
		}
		found, err := s.list(ctx, l.session, l)
		if !ended(err) {
			return found, why(err)
		}
		gone = l.session
	}
}

// connected waits for a connection, but not after an attempt that failed.
func (s *server) connected(ctx context.Context, gone *sdk.ClientSession) (*live, error) {
	s.mu.Lock()
	failures := s.failures
	s.mu.Unlock()
	for {
		s.mu.Lock()
		l, lost, changed, failed := s.live, s.lost, s.changed, s.failures > failures
		s.mu.Unlock()
		switch {
		case l != nil && l.session != gone:
			return l, nil
		case failed:
			return nil, lost
		}
		nudge(s.wake)
		select {
		case <-changed:
		case <-ctx.Done():
			if lost == nil {
				lost = ours("it is still starting")
			}
			return nil, lost
		}
	}
}

// differs says why a tool is off; "" if it is the pinned one.
func differs(pinned Definition, now []Definition) string {
	d, ok := byName(now, pinned.Name)
	if !ok {
		return "its server does not offer it any more"
	}
	var changed []string
	for _, p := range pinned.parts(d) {
		changed = append(changed, p.name)
	}
	if len(changed) == 0 {
		return ""
	}
	return "its server has changed its " + strings.Join(changed, ", ") + " and nobody has accepted that"
}

func switchedOff(o offer, why string) llm.Result {
	return tools.Failed("%s was not run: it is switched off, since %s. Somebody who runs this bot has to look at it; go on without it, and say so.", o.as, why)
}

// notReady says why a call of a tool would not run now, in words for the model; "" if
// it would. Nobody is asked to approve such a call.
func (s *server) notReady(ctx context.Context, o offer) string {
	l, err := s.ready(ctx, nil)
	if err != nil {
		r, _ := s.unavailable(ctx, o, err)
		return r.Text
	}
	if off := differs(o.d, l.tools); off != "" {
		return switchedOff(o, off).Text
	}
	return ""
}
