// Package person takes one person out of a store, or lists what a store holds of them.
//
// Erase and Export are functions of one thread's log. Store applies them to all threads,
// and to what is kept beside the logs.
package person

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// Erased stands in a log in the place of a person who was erased.
const Erased chat.UserID = "erased"

// gone stands in the place of an erased text.
const gone = "[erased]"

// Is says whether a user of the thread's platform is the person.
type Is func(chat.UserID) bool

// Found is what a log held of the person.
type Found struct {
	Messages, Votes, Files, Grants int
	Schedules, Facts               int
	Turns                          int  // whose answers, steps and results are erased
	Calls                          int  // that wait for an approval, in a turn of theirs
	Running                        bool // the turn that is not over is theirs

	changed bool
	refs    map[chat.MessageRef]bool // their messages
	blobs   map[string]bool          // only they had these
}

// String is for people.
func (f Found) String() string {
	text := fmt.Sprintf("%d messages, %d turns, %d files, %d votes, %d grants, %d calls that waited", f.Messages, f.Turns, f.Files, f.Votes, f.Grants, f.Calls)
	if f.Schedules > 0 {
		text += fmt.Sprintf(", %d schedules", f.Schedules)
	}
	if f.Facts > 0 {
		text += fmt.Sprintf(", %d facts", f.Facts)
	}
	return text
}

// Erase gives the entries of a log, in the order of memory.Reader, that change when the
// person leaves it; nil for the others. Entries behind until stay.
//
// A message of theirs reads [erased]. A turn in which they spoke loses its answers, steps
// and results, and every summary goes. The rest names the person nowhere. All messages
// since the turn before belong to a turn: they were in its prompt.
func Erase(log []memory.Entry, person Is, until time.Time) ([]memory.Body, Found) {
	e := eraser{turn: map[string]int{}, theirs: map[int]bool{}, opened: map[int]bool{}, decided: map[string]bool{}, kept: map[string]bool{}}
	e.found.refs, e.found.blobs = map[chat.MessageRef]bool{}, map[string]bool{}
	each := func(do func(i int, b memory.Body)) {
		e.at = 0
		for i, entry := range log {
			e.is = func(id chat.UserID) bool { return !entry.At.After(until) && person(id) }
			do(i, entry.Body)
			if _, ends := entry.Body.(memory.Ended); ends {
				e.at++
			}
		}
	}
	each(func(_ int, b memory.Body) { e.survey(b) })
	e.found.Running = e.theirs[e.at]
	delete(e.found.refs, chat.MessageRef{})
	each(func(_ int, b memory.Body) { e.files(b) })
	delete(e.found.blobs, "")
	for name := range e.kept {
		delete(e.found.blobs, name)
	}
	out, turns := make([]memory.Body, len(log)), map[int]bool{}
	each(func(i int, b memory.Body) {
		if after := e.erase(b); !same(b, after) {
			out[i], e.found.changed = after, true
			turns[e.at] = e.theirs[e.at] && e.opened[e.at]
		}
	})
	for _, theirs := range turns {
		if theirs {
			e.found.Turns++
		}
	}
	return out, e.found
}

// eraser knows which turns of a log are the person's. The ends of turns number them.
type eraser struct {
	is      Is
	at      int
	turn    map[string]int // by call
	theirs  map[int]bool
	opened  map[int]bool // words open none
	decided map[string]bool
	kept    map[string]bool // files that others have too
	found   Found
}

// spoke notes that the turn is theirs, or that of somebody who was erased before: a result
// may come later than that.
func (e *eraser) spoke(users ...chat.User) {
	e.theirs[e.at] = e.theirs[e.at] || e.among(users) || chat.Includes(users, Erased)
}

func (e *eraser) among(users []chat.User) bool {
	return slices.ContainsFunc(users, func(u chat.User) bool { return e.is(u.ID) })
}

// survey notes whose turn it is, and which calls and messages belong to it.
func (e *eraser) survey(b memory.Body) {
	switch b := b.(type) {
	case memory.Message:
		if e.is(b.From.ID) {
			e.found.refs[b.Ref] = true
		}
		e.spoke(b.From)
		for _, q := range b.Quoted {
			e.spoke(q.From)
		}
	case memory.Order:
		e.spoke(b.By)
	case memory.Opened:
		e.opened[e.at] = true
		e.spoke(append(slices.Clip(b.Voices), b.Requester)...)
	case memory.Ran:
		e.turn[b.Call.ID] = e.at
	case memory.Step:
		for _, c := range b.Calls {
			e.turn[c.ID] = e.at
		}
	case memory.Decided:
		e.decided[b.Call] = true
	}
}

// files notes whose files an entry names.
func (e *eraser) files(b memory.Body) {
	note := func(theirs bool, files ...chat.File) {
		for _, f := range files {
			if theirs {
				e.found.blobs[f.Blob] = true
			} else {
				e.kept[f.Blob] = true
			}
		}
	}
	switch b := b.(type) {
	case memory.Message:
		note(e.is(b.From.ID), b.Files...)
	case memory.Result:
		note(e.of(b.Call), b.Artifacts...)
	case memory.Previewed:
		note(e.of(b.Call), b.File)
	}
}

// of says whether a call is of a turn of theirs.
func (e *eraser) of(call string) bool {
	n, ok := e.turn[call]
	return ok && e.theirs[n]
}

// wording are the members of entries that hold words. All of them go from the turns of the
// person, and from what the person asked for or gave a reason for.
var wording = map[string]any{
	"text": gone, "answer": gone, "thought": gone, "reason": gone, "why": gone, "err": gone, "refused": gone, "plain": gone,
	"values": gone, "handle": gone, "args": "{}", "echo": nil, "marks": nil, "artifacts": nil, "file": nil,
}

// erase gives an entry without the words that go, and without the person's ids, names and
// messages.
func (e *eraser) erase(b memory.Body) memory.Body {
	switch kind := b.(type) {
	case memory.Message:
		b = e.message(kind)
	case memory.Trimmed:
		b = e.trimmed(kind)
	case memory.Vote:
		b = e.vote(kind)
	case memory.Scheduled:
		if e.is(kind.By.ID) {
			e.found.Schedules++
			kind.Refused = gone // so it is none
			b = kind
		}
	case memory.Granted:
		if e.among(kind.By) {
			e.found.Grants++
			kind.For = 0
			b = kind
		}
	case memory.Asked:
		if e.of(kind.Call) && !e.decided[kind.Call] {
			e.found.Calls++
		}
	}
	raw, err := memory.Encode(b)
	if err != nil {
		return b
	}
	var entry struct {
		Kind string         `json:"k"`
		Body map[string]any `json:"b"`
		rest
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&entry) != nil {
		return b
	}
	if b.Kind() != "message" && b.Kind() != "failed" && e.concerns(entry.Body) {
		blank(entry.Body)
	}
	e.walk(entry.Body)
	if raw, err = json.Marshal(entry); err != nil {
		return b
	}
	return memory.Decode(raw)
}

// rest is the rest of an envelope.
type rest struct {
	Version int  `json:"v"`
	Skip    bool `json:"s,omitempty"`
}

// concerns says whether an entry's words go: it is of a call or a turn of the person, or
// by them.
func (e *eraser) concerns(body map[string]any) bool {
	by, many := body["by"].([]any)
	if !many {
		by = []any{body["by"]}
	}
	for _, who := range by {
		user, _ := who.(map[string]any)
		if id, _ := user["id"].(string); e.is(chat.UserID(id)) {
			return true
		}
	}
	ref, _ := body["ref"].(string)
	edited, err := chat.ParseMessageRef(ref)
	call, of := body["call"].(string)
	return err == nil && e.found.refs[edited] || e.of(call) || !of && e.theirs[e.at]
}

// blank empties the members that hold words, at any depth.
func blank(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			if with, ok := wording[k]; ok && with == nil {
				delete(v, k)
			} else if text, is := value.(string); ok && is && text != "" {
				v[k] = with
			} else {
				blank(value)
			}
		}
	case []any:
		for _, one := range v {
			blank(one)
		}
	}
}

func (e *eraser) message(m memory.Message) memory.Body {
	if e.is(m.From.ID) {
		e.found.Messages++
		e.found.Files += len(m.Files)
		return memory.Message{Message: chat.Message{From: chat.User{ID: Erased}, Text: gone, Sent: m.Sent, Aside: m.Aside, Outside: m.Outside}}
	}
	m.Quoted = slices.Clone(m.Quoted)
	for i, q := range m.Quoted {
		if e.is(q.From.ID) {
			e.found.Messages++
			m.Quoted[i] = chat.Quote{From: chat.User{ID: Erased}, Text: gone}
		}
	}
	return m
}

// trimmed drops every summary: turns of theirs may be in it that no entry tells of.
func (e *eraser) trimmed(t memory.Trimmed) memory.Body {
	if !slices.Contains(slices.Collect(maps.Values(e.theirs)), true) && !slices.ContainsFunc(t.People, e.is) {
		return t
	}
	t.Files = slices.DeleteFunc(slices.Clone(t.Files), func(f chat.File) bool { return e.found.blobs[f.Blob] })
	t.Summary, t.Recap, t.Recalled = "", "", false
	t.Schedules = slices.DeleteFunc(slices.Clone(t.Schedules), func(c memory.Standing) bool { return e.is(c.By.ID) })
	t.Grants = slices.DeleteFunc(slices.Clone(t.Grants), func(c memory.Carried) bool { return e.among(c.Granted.By) })
	return t
}

// vote withdraws a vote of theirs, if the call is not decided.
func (e *eraser) vote(v memory.Vote) memory.Body {
	if e.is(v.By.ID) {
		if v.Counts && !e.decided[v.Call] {
			e.found.Votes++
			v.Counts, v.Reason = false, gone
		}
		v.Grant = nil
	}
	return v
}

// walk replaces the person's ids and messages below a value, and gives it back.
func (e *eraser) walk(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if id, ok := v["id"].(string); ok && e.is(chat.UserID(id)) {
			return map[string]any{"id": string(Erased)}
		}
		for k := range v {
			v[k] = e.walk(v[k])
		}
	case []any:
		for i := range v {
			v[i] = e.walk(v[i])
		}
	case string:
		id, isUser := strings.CutPrefix(v, "user:")
		ref, err := chat.ParseMessageRef(v)
		switch {
		case e.is(chat.UserID(id)) && isUser:
			return "user:" + string(Erased)
		case e.is(chat.UserID(v)):
			return string(Erased)
		case err == nil && e.found.refs[ref]:
			return ""
		}
	}
	return v
}

func same(a, b memory.Body) bool {
	x, errX := memory.Encode(a)
	y, errY := memory.Encode(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
