package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"nod/chat"
)

func (y *tray) Feedback(_ context.Context, on chat.MessageRef, by chat.User, good bool, text string, ids ...string) (bool, error) {
	return y.put(map[bool]string{true: "good", false: "bad"}[good]+" by "+string(by.ID)+": "+text, ids)
}

// A critic of an answer is asked for the reason, once, and nobody else is.
func TestWhatWasWrong(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	ref, _ := r.a.Post(t.Context(), thread, chat.Post{Key: "answer/1", Text: &chat.Text{Markdown: "It is 41."}}, false)
	if err := r.a.AskWhy(t.Context(), thread, People[1], chat.MessageRef{ID: "gone"}); err == nil {
		t.Error("it is asked about what is not shown")
	}
	if err := r.a.AskWhy(t.Context(), thread, People[1], ref); err != nil {
		t.Fatal(err)
	}
	asks := func(as string) bool {
		return strings.Contains(r.get("/?c=lobby&t=message0&as="+as).Body.String(), `action="/wrong"`)
	}
	if !asks("ben") || asks("ada") {
		t.Errorf("ben is asked: %v, ada is asked: %v", asks("ben"), asks("ada"))
	}
	for as, text := range map[string]string{"ada": "so", "ben": strings.Repeat("x", 2000)} {
		if w := r.send("/wrong", "ref", ref.String(), "as", as, "reason", text); w.Code < http.StatusBadRequest {
			t.Errorf("%s may say %d characters: status %d", as, len(text), w.Code)
		}
	}
	r.send("/wrong", "ref", ref.String(), "as", "ben", "reason", "it is 42")
	if want := []string{"bad by ben: it is 42"}; !slices.Equal(r.tray.did, want) || asks("ben") {
		t.Errorf("did %q; he is asked again: %v", r.tray.did, asks("ben"))
	}
}
