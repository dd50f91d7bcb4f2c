package agent_test

import (
	"strings"
	"testing"

	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// A file for which there was no room is named to people, once, and the model is not told
// to read on in what is not there. Of what people attach among themselves nothing is said.
func TestNoRoom(t *testing.T) {
	refused := chat.File{Name: "log.txt", MediaType: "text/plain", Size: 9000, Text: strings.Repeat("a line\n", 1000), Refused: "this thread is full"}
	s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
	s.model = func(llm.Request) llm.Response { return llm.Response{Text: "I see."} }
	s.add(from("ada", "read this", refused, chat.File{Name: "kept.txt", MediaType: "text/plain", Size: 5, Text: "hello", Blob: "b1"}))
	s.run()
	if want := "I did not keep `log.txt`: this thread is full.\n`drop NAME` and `forget` make room; `artifacts` lists what is kept here."; s.texts[0] != want {
		t.Errorf("people are told %q, want %q", s.texts, want)
	}
	prompt := s.prompts[0].Messages[len(s.prompts[0].Messages)-1].Text
	if !strings.Contains(prompt, "9000 bytes, which was not kept: this thread is full]") || strings.Contains(prompt, "read on with details") {
		t.Errorf("the model reads %q", prompt)
	}
	n := len(s.texts)
	aside := from("eve", "look at that", refused)
	aside.Aside = true
	s.add(aside, from("ada", "and now"))
	s.die()
	s.run()
	if len(s.texts) != n+1 {
		t.Errorf("people are told %q, want one answer more than %d texts", s.texts, n)
	}
	if notice := s.entries[1].Body.(memory.Posted); !strings.HasPrefix(notice.Key, "notice/1") {
		t.Errorf("%+v is behind the message, want the word", notice)
	}
}
