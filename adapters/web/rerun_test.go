package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"nod/chat"
	"nod/chat/form"
)

func (y *tray) Again(_ context.Context, _ chat.ThreadID, call string) (chat.Again, string, error) {
	if call == "c0" {
		return chat.Again{}, "there is something newer in this thread; ask again there", nil
	}
	p := editCard()
	return chat.Again{Call: call, Tool: p.Tool, Args: `{"env":"prod"}`, Parameters: p.Parameters, Number: 2}, "", nil
}

func (y *tray) RunAgain(_ context.Context, thread chat.ThreadID, c chat.Change, ids ...string) (string, error) {
	if strings.Contains(c.Args, "moon") {
		return "there is no <moon>", nil
	}
	_, err := y.put("again "+thread.Root+" "+c.Call+" "+string(c.By.ID)+" "+c.Args, ids)
	return "", err
}

// Steps that are done have a button for each call; it puts a form below them for
// whoever clicked, and sending that runs the call again. What is wrong is said.
func TestEditAndRunAgain(t *testing.T) {
	r := openRoom(t)
	r.send("/say", "c", "ops", "text", "@nod deploy", "id", "message0")
	s := chat.Steps{Turn: "7", Version: 1, Items: []chat.Step{{Calls: []chat.ToolCall{
		{ID: "c0", Tool: "search", Args: "{}", State: chat.CallDone}, {ID: "c1", Tool: "deploy", Args: `{"env":"prod"}`, State: chat.CallDone},
	}}}}
	th := threadID("ops", "message0")
	ref, _ := r.a.Post(t.Context(), th, chat.Post{Key: "steps/7", Steps: &s}, false)
	seen := func(who string) string { return r.get("/?c=ops&t=message0&as=" + who).Body.String() }
	if strings.Contains(seen("ben"), form.AgainLabel) {
		t.Error("a call of a turn that runs can be run again")
	}
	done := s
	done.Done, done.Version = true, 2
	_ = r.a.Edit(t.Context(), th, ref, chat.Post{Key: "steps/7", Steps: &done})
	if body := seen("ben"); !strings.Contains(body, `value="c1">`+form.AgainLabel+": 2 deploy</button>") || strings.Contains(body, `action="/rerun"`) {
		t.Errorf("ben sees %s", body)
	}
	send := func(path string, more url.Values) (int, string) {
		form := url.Values{"ref": {ref.String()}, "as": {"ben"}, "id": {newID()}}
		for k, v := range more {
			form[k] = v
		}
		w := r.submit(path, "application/x-www-form-urlencoded", form.Encode())
		return w.Code, w.Body.String()
	}
	if code, said := send("/again", url.Values{"call": {"c0"}}); code != http.StatusConflict || !strings.Contains(said, "It can&#39;t be run again: there is something newer") && !strings.Contains(said, "It can't be run again: there is something newer") {
		t.Errorf("%d %s", code, said)
	}
	if code, said := send("/again", url.Values{"call": {"c1"}}); code != http.StatusSeeOther {
		t.Errorf("%d %s", code, said)
	}
	if body := seen("ben"); !strings.Contains(body, `action="/rerun"`) || !strings.Contains(body, `<option value="&#34;prod&#34;" selected>prod</option>`) {
		t.Errorf("ben sees %s", body)
	}
	if strings.Contains(seen("ada"), `action="/rerun"`) {
		t.Error("ada sees ben's form")
	}
	r.tray.did = nil
	for _, tt := range []struct {
		env, says string
		want      int
	}{{`"moon"`, "there is no <moon>", http.StatusUnprocessableEntity}, {`"dev"`, "", http.StatusSeeOther}} {
		code, said := send("/rerun", url.Values{"call": {"c1"}, "field": {"menv"}, "menv": {tt.env}})
		if code != tt.want || !strings.Contains(said, tt.says) {
			t.Errorf("%s: %d %s", tt.env, code, said)
		}
	}
	if len(r.tray.did) != 1 || r.tray.did[0] != `again message0 c1 ben {"env":"dev"}` {
		t.Errorf("did %q", r.tray.did)
	}
	if strings.Contains(seen("ben"), `action="/rerun"`) {
		t.Error("the form stands there still")
	}
}
