package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"nod/chat"
)

func (y *tray) Edited(_ context.Context, ref chat.MessageRef, text string, ids ...string) (bool, error) {
	return y.put("edit "+ref.ID+": "+text, ids)
}

func (y *tray) Deleted(_ context.Context, ref chat.MessageRef, ids ...string) (bool, error) {
	return y.put("delete "+ref.ID, ids)
}

// Who wrote a message can change it and take it back, and nobody else can.
func TestChange(t *testing.T) {
	r := openRoom(t)
	r.send("/say", "c", "ops", "text", "@nod restart his api", "id", "message0")
	answer, _ := r.a.Post(t.Context(), threadID("ops", "message0"), chat.Post{Key: "answer", Text: &chat.Text{Markdown: "x"}}, false)
	r.tray.did = nil
	ref := messageRef("ops", "message0").String()
	for _, tt := range []struct {
		path   string
		fields []string
		want   int
	}{
		{"/edit", []string{"ref", ref, "as", "ben", "text", "no"}, 403},
		{"/delete", []string{"ref", ref, "as", "ben"}, 403},
		{"/edit", []string{"ref", answer.String(), "text", "no"}, 403},
		{"/edit", []string{"ref", ref, "text", " \u202e "}, 400},
		{"/edit", []string{"ref", ref, "text", strings.Repeat("x", mostText+1)}, 413},
		{"/edit", []string{"ref", ref, "text", "@nod restart <b>the</b> api\u202e"}, 303},
	} {
		if w := r.send(tt.path, tt.fields...); w.Code != tt.want {
			t.Errorf("%s %.60q: status %d", tt.path, tt.fields, w.Code)
		}
	}
	body := r.get("/?c=ops&t=message0").Body.String()
	if !strings.Contains(body, "restart &lt;b&gt;the") || !strings.Contains(body, ">edited<") || strings.Contains(body, "his api") || !strings.Contains(body, `action="/edit"`) {
		t.Errorf("edited: %s", body)
	}
	if body := r.get("/?c=ops&t=message0&as=ben").Body.String(); strings.Contains(body, `action="/edit"`) {
		t.Error("ben is offered to edit it")
	}
	r.tray.Fail = errBroken
	if w := r.send("/delete", "ref", ref); w.Code != http.StatusServiceUnavailable {
		t.Errorf("the store is away: status %d", w.Code)
	}
	r.tray.Fail = nil
	r.send("/delete", "ref", ref)
	if w := r.send("/edit", "ref", ref, "text", "again"); w.Code != http.StatusConflict {
		t.Errorf("an edit of what is deleted: status %d", w.Code)
	}
	if body := r.get("/?c=ops&t=message0").Body.String(); strings.Contains(body, "restart") || !strings.Contains(body, `data-state="deleted"`) {
		t.Errorf("deleted: %s", body)
	}
	if want := []string{"edit message0: restart <b>the</b> api", "delete message0"}; !slices.Equal(r.tray.did, want) {
		t.Errorf("did %q", r.tray.did)
	}
}
