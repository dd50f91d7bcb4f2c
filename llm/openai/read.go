package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"nod/llm"
)

// draft is an answer so far, in either protocol.
type draft struct {
	out     *sink
	newID   func() string
	from    string // the model, for its echo
	most    int    // limit of the kept bytes
	room    room
	stops   stops
	text    strings.Builder // up to a stop word
	thought strings.Builder
	over    bool // the answer is whole, and nothing follows
}

func (m *Model) draft(req request, out *sink) draft {
	return draft{out: out, newID: m.o.NewID, from: m.from(), most: m.o.MaxOutput, room: room{left: m.o.MaxOutput}, stops: stops{words: req.Stop}}
}

func (d *draft) state() *draft { return d }

// keep takes what there is room for, and gives that.
func (d *draft) keep(text, thought string) (string, string) {
	text, thought = d.room.fit(text), d.room.fit(thought)
	d.text.WriteString(text)
	d.thought.WriteString(thought)
	return text, thought
}

// enough says that nothing that follows is wanted, nor paid for.
func (d *draft) enough() bool { return d.stops.hit || d.room.over }

// begun gives the beginning of an answer that is too long to be read.
func (d *draft) begun(cut []byte) (llm.Response, error) {
	if r, ok := beginning(cut, d.most); ok {
		return r, nil
	}
	return llm.Response{}, endless()
}

// reader reads an answer: pieces, and then the end.
type reader interface {
	add(raw []byte) error
	end(ended bool, cause error) (llm.Response, error)
	state() *draft
}

// read reads the answer that came. err is go-openai's; of an answer in one piece it may
// merely have refused to decode.
func (x *exchange) read(c reader, err error) (llm.Response, error) {
	if !x.stream {
		return x.whole(c, err)
	}
	if err != nil {
		return llm.Response{}, err
	}
	defer x.drain()
	for d := c.state(); ; {
		raw, err := x.event()
		var long *overlong
		switch {
		case errors.As(err, &long):
			return d.begun(long.begun)
		case err != nil:
			return c.end(x.ended(), err)
		}
		if err := c.add(raw); err != nil {
			return llm.Response{}, err
		}
		if d.over || d.enough() {
			x.events.done = x.events.done || d.over // not each protocol says [DONE]
			return c.end(d.over, nil)
		}
	}
}

// whole reads an answer in one piece.
func (x *exchange) whole(c reader, err error) (llm.Response, error) {
	switch {
	case (x.body == nil || x.status >= 300) && err != nil:
		return llm.Response{}, err
	case x.body == nil || x.status >= 300:
		return llm.Response{}, errors.New("no answer")
	case x.cut:
		return c.state().begun(x.body)
	case !json.Valid(x.body):
		return llm.Response{}, unreadable(x.body)
	}
	if err := c.add(x.body); err != nil {
		return llm.Response{}, err
	}
	return c.end(true, nil)
}
