package discord

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/chat/intake"
	"nod/chat/outbox"
)

// pageSize is the most messages that Discord gives at once.
const pageSize = 100

type span struct {
	channel  string
	after    string // exclusive
	priority outbox.Priority
	pages    int
	back     bool // from the newest on
}

// read gives the messages of a span, oldest first. When there are more than so many pages
// the rest is left out: the newer ones, or of what is read back the older ones.
func (a *Adapter) read(ctx context.Context, s span) ([]api.Message, error) {
	var out []api.Message
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if !s.back {
		query.Set("after", chat.FirstOf(s.after, "0"))
	}
	for range s.pages {
		var page []api.Message
		err := a.rest.Call(ctx, api.Request{
			Method: "GET", Path: "/channels/{}/messages", IDs: []string{s.channel}, Priority: s.priority, Answer: &page, Query: query,
		})
		if err != nil {
			return out, err
		}
		full := len(page) >= pageSize
		page = slices.DeleteFunc(page, func(m api.Message) bool {
			return api.Snowflake(m.ID) <= api.Snowflake(s.after) || m.Author == nil || m.Author.ID == ""
		})
		out = append(out, page...)
		slices.SortFunc(out, older)
		switch {
		case !full || len(page) == 0:
			return out, nil
		case s.back:
			query.Set("before", out[0].ID)
		default:
			query.Set("after", out[len(out)-1].ID)
		}
	}
	return out, nil
}

func older(x, y api.Message) int {
	return cmp.Compare(api.Snowflake(x.ID), api.Snowflake(y.ID))
}

const mostQuoted = 30 // earlier messages of a thread that go along with the call

// before reads what was said in a thread before the bot was called into it. It goes to the
// model as data. The bot's own posts are no words of anybody, and nothing is older than the
// horizon. Every file is named; some are to be fetched.
func (a *Adapter) before(ctx context.Context, m api.Message, horizon time.Time) ([]chat.Quote, []api.Attachment) {
	ctx, cancel := context.WithTimeout(ctx, a.o.Lookup)
	defer cancel()
	var page []api.Message
	err := a.rest.Call(ctx, api.Request{
		Method: "GET", Path: "/channels/{}/messages", IDs: []string{m.ChannelID}, Priority: outbox.Answer, Answer: &page,
		Query: url.Values{"before": {m.ID}, "limit": {strconv.Itoa(mostQuoted)}},
	})
	if err != nil {
		a.log.Warn("read the thread that the bot was called into", "error", err)
	}
	slices.SortFunc(page, older)
	var out []chat.Quote
	var files [][]api.Attachment
	for _, q := range page {
		if q.Type == discordgo.MessageTypeThreadStarterMessage && q.Referenced != nil {
			q = *q.Referenced
		}
		if q.Author == nil || q.Author.ID == a.self.who().ID || !api.SentAt(q.ID).After(horizon) || !q.Written() {
			continue
		}
		from := a.from(q)
		out = a.quote(out, from, q)
		named := ""
		for _, f := range q.Files() {
			named += intake.Named(chat.FirstOf(f.Filename, f.ID))
		}
		if named != "" {
			out = append(out, chat.Quote{From: from, Text: strings.TrimSpace(named)})
		}
		files = append(files, q.Files())
	}
	return out, intake.Earlier(files)
}
