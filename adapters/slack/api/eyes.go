package api

import (
	"context"
	"net/url"
	"time"

	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/outbox"
)

// Eyes search with the eyes of people. For a short while after a person's message Slack
// lets an app do so, by a token in the event of the message
// (https://docs.slack.dev/apis/web-api/real-time-search-api). Tokens are in memory only, and
// no longer than eyesOpen: after a restart people have to write anew.
type Eyes struct {
	Web *Client

	tokens bounded.Map[chat.MessageRef, string]
}

// eyesOpen bounds how long a token is kept. Slack does not say for how long it takes one.
const eyesOpen = 15 * time.Minute

// Open keeps the token of a message, and says whether there is one.
func (e *Eyes) Open(ev Event, ref chat.MessageRef) bool {
	token := chat.FirstOf(ev.ActionToken, ev.Assistant.ActionToken)
	if token == "" || ev.BotID != "" {
		return false
	}
	e.tokens.Put(ref, token)
	time.AfterFunc(eyesOpen, func() { e.tokens.Take(ref) })
	return true
}

// Search finds messages by the first of a person's messages that allows it: in a channel
// public ones only, since everybody there reads the answer. It gives [chat.ErrBlind] where
// no token is left, and a [chat.Refused] where Slack refuses.
func (e *Eyes) Search(ctx context.Context, thread chat.ThreadID, eyes []chat.MessageRef, query string) (hits []chat.Hit, err error) {
	err = chat.ErrBlind
	for _, ref := range eyes {
		token, ok := e.tokens.Get(ref)
		if !ok {
			continue
		}
		args := url.Values{"query": {query}, "action_token": {token}, "content_types": {"messages"}, "limit": {"10"}}
		if IsDM(ChannelOf(thread.Channel)) {
			args.Set("channel_types", "public_channel,private_channel,mpim,im")
			hits, err = e.search(ctx, args)
		}
		if !IsDM(ChannelOf(thread.Channel)) || Code(err) != "" && Code(err) != staleToken { // without the person's consent only public ones
			args.Set("channel_types", "public_channel")
			hits, err = e.search(ctx, args)
		}
		if Code(err) != staleToken {
			break
		}
		e.tokens.Take(ref)
		err = chat.ErrBlind
	}
	if c := Code(err); c != "" {
		return nil, Refusal(c)
	}
	return hits, err
}

const staleToken = "invalid_action_token"

func (e *Eyes) search(ctx context.Context, args url.Values) (hits []chat.Hit, err error) {
	var found struct {
		Messages []struct {
			Author  string `json:"author_name"`
			UserID  string `json:"author_user_id"`
			Channel string `json:"channel_name"`
			Content string `json:"content"`
			Link    string `json:"permalink"`
		} `json:"messages"`
	}
	err = e.Web.Call(ctx, Request{Method: "assistant.search.context", Args: args, Priority: outbox.Answer, Answer: &found, Field: "results"})
	for _, m := range found.Messages {
		hits = append(hits, chat.Hit{Author: chat.FirstOf(m.Author, m.UserID), Place: m.Channel, Text: m.Content, Link: m.Link})
	}
	return hits, err
}
