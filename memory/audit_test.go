package memory_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"nod/chat"
	"nod/memory"
)

// A line in the program's log names the event. It holds no text of a person, and no
// place in the chain.
func TestAuditLineInLogs(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	line := memory.AuditLine{Event: "decided", Call: "1-1-1", Tool: "deploy", By: []chat.UserID{"U1"}, Outcome: "Denied", Reason: "MARK too late"}
	slog.New(slog.NewJSONHandler(&logs, nil)).Info("audit", "audit", line)
	for _, want := range []string{`"event":"decided"`, `"call":"1-1-1"`, `"tool":"deploy"`, `"by":["U1"]`, `"outcome":"Denied"`} {
		if !strings.Contains(logs.String(), want) {
			t.Errorf("%s lacks %s", logs.String(), want)
		}
	}
	for _, bad := range []string{"MARK", `"prev"`, `"seq"`} {
		if strings.Contains(logs.String(), bad) {
			t.Errorf("%s holds %s", logs.String(), bad)
		}
	}
}

// Lines of the time when nobody but the requester could be excluded keep their form,
// and so their hash.
func TestWhomALineExcludes(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]any{
		`{"exclude_requester":false}`: false, `{"exclude_requester":true}`: true, `{"exclude_requester":"thread"}`: "thread",
	} {
		got, err := json.Marshal(memory.AuditRules{ExcludeRequester: x})
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v, want %s", x, got, err, want)
		}
		var back memory.AuditRules
		if err := json.Unmarshal([]byte(want), &back); err != nil || back.ExcludeRequester != x {
			t.Errorf("%s: %q, %v", want, back.ExcludeRequester, err)
		}
	}
}

// The log says which rules held when something was asked, and how a call ended.
func TestAuditSaysRulesAndOutcome(t *testing.T) {
	t.Parallel()
	line := func(b memory.Body) string {
		raw, err := json.Marshal(memory.EffectsOf(chat.ThreadID{Platform: "p", Channel: "c", Root: "1"}, []memory.Entry{{Seq: 7, Body: b}}).Audit)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	asked := line(memory.Asked{Call: "1-1-1", Tool: "deploy", Rules: memory.Rules{Approvers: []string{"group:S012"}, Quorum: 2, ExcludeRequester: true}})
	for _, want := range []string{`"asked"`, `"group:S012"`, `"quorum":2`, `"exclude_requester":true`} {
		if !strings.Contains(asked, want) {
			t.Errorf("%s lacks %s", asked, want)
		}
	}
	for why, event := range map[string]string{"too late": `"ignored"`, memory.LockedOut: `"locked"`} {
		if vote := line(memory.Vote{Call: "1-1-1", Reason: why}); !strings.Contains(vote, event) {
			t.Errorf("%s lacks %s", vote, event)
		}
	}
	for _, state := range []chat.CallState{chat.CallDone, chat.CallFailed, chat.CallUnknown} {
		ended := line(memory.Result{Call: "1-1-1", Tool: "deploy", State: state})
		if !strings.Contains(ended, `"result"`) || !strings.Contains(ended, `"outcome":"`+string(state)+`"`) {
			t.Errorf("%s: %s", state, ended)
		}
	}
}
