package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/sashabaranov/go-openai"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
)

// bareLoop is the measure of TestLoad: it hears a message, has the model call a
// tool, and answers. It stores nothing, limits nothing and tries nothing again. With
// a file it is the other measure: it also does what nobody can leave out who forgets
// nothing and shows steps, and no more.
func bareLoop() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg := openai.DefaultConfig("k")
	cfg.BaseURL = os.Getenv("BARE_LLM")
	cfg.HTTPClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b := bare{model: openai.NewClientWithConfig(cfg)}
	var err error
	if file := os.Getenv("BARE_FILE"); file != "" {
		if b.kept, err = openDiary(file); err != nil {
			log.Fatal(err)
		}
	}
	if api := os.Getenv("BARE_SLACK"); api != "" {
		err = b.slack(ctx, api)
	} else {
		err = b.discord(ctx, os.Getenv("BARE_DISCORD"))
	}
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

type bare struct {
	model *openai.Client
	kept  *diary // nil: it stores nothing, and shows no steps
}

// bareRoom is where somebody asked.
type bareRoom interface {
	post(ctx context.Context, text string) (id string, err error)
	edit(ctx context.Context, id, text string) error
}

// turn answers a message that was kept.
func (b bare) turn(ctx context.Context, in bareRoom, id, text string) {
	steps := make(chan string, 1)
	err := b.answer(ctx, text, func(call openai.ToolCall) error {
		if b.kept == nil {
			return nil
		}
		err := b.kept.keep("step "+id, call.Function.Name)
		if err == nil {
			go show(ctx, in, call.Function.Name, steps)
		}
		return err
	}, func(text string, called bool) error {
		var shown string
		if called && b.kept != nil {
			shown = <-steps
		}
		err := b.kept.keep("answer "+id, text)
		if err == nil {
			_, err = in.post(ctx, text)
		}
		if err == nil && shown != "" {
			err = in.edit(ctx, shown, "Ran it")
		}
		return err
	})
	if err != nil {
		log.Print(err)
	}
}

// show posts what runs.
func show(ctx context.Context, in bareRoom, tool string, steps chan<- string) {
	id, err := in.post(ctx, "Running "+tool)
	if err != nil {
		log.Print(err)
	}
	steps <- id
}

// clockTool is what the model is offered.
var clockTool = openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
	Name: "clock", Description: "Tells the time.", Parameters: map[string]any{"type": "object", "properties": map[string]any{}},
}}

// answer calls the model until it calls no tool any more. It says each call before it
// makes it, and at last the answer and whether there were any.
func (b bare) answer(ctx context.Context, text string, calls func(openai.ToolCall) error, ends func(text string, called bool) error) error {
	messages := []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: "You are a helpful colleague."}, {Role: openai.ChatMessageRoleUser, Content: text},
	}
	asked := len(messages)
	for {
		resp, err := b.model.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: "m", Messages: messages, Tools: []openai.Tool{clockTool}})
		if err != nil {
			return err
		}
		m := resp.Choices[0].Message
		if len(m.ToolCalls) == 0 {
			return ends(m.Content, len(messages) > asked)
		}
		for i := range m.ToolCalls {
			m.ToolCalls[i].ID = fmt.Sprintf("call%05d", i) // as strict servers want it
		}
		messages = append(messages, m)
		for _, c := range m.ToolCalls {
			if err := calls(c); err != nil {
				return err
			}
			messages = append(messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: c.ID, Content: time.Now().UTC().Format(time.RFC3339)})
		}
	}
}

func (b bare) slack(ctx context.Context, api string) error {
	web := slack.New(os.Getenv("BARE_BOT"), slack.OptionAppLevelToken(os.Getenv("BARE_APP")), slack.OptionAPIURL(api),
		slack.OptionHTTPClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}))
	socket := socketmode.New(web)
	go func() {
		for e := range socket.Events {
			if e.Type != socketmode.EventTypeEventsAPI {
				continue
			}
			go b.slackEvent(ctx, socket, web, e)
		}
	}()
	return socket.RunContext(ctx)
}

func (b bare) slackEvent(ctx context.Context, socket *socketmode.Client, web *slack.Client, e socketmode.Event) {
	outer, _ := e.Data.(slackevents.EventsAPIEvent)
	m, ok := outer.InnerEvent.Data.(*slackevents.MessageEvent)
	ours := ok && m.BotID == "" && m.SubType == ""
	if ours {
		if err := b.kept.keep("event "+m.Channel+m.TimeStamp, m.Text); err != nil {
			log.Print(err)
			return
		}
	}
	_ = socket.Ack(*e.Request)
	if ours {
		b.turn(ctx, bareSlack{web, m}, m.Channel+m.TimeStamp, m.Text)
	}
}

type bareSlack struct {
	web *slack.Client
	at  *slackevents.MessageEvent
}

func (s bareSlack) post(ctx context.Context, text string) (string, error) {
	_, ts, err := s.web.PostMessageContext(ctx, s.at.Channel, slack.MsgOptionText(text, false), slack.MsgOptionTS(s.at.TimeStamp))
	return ts, err
}

func (s bareSlack) edit(ctx context.Context, id, text string) error {
	_, _, _, err := s.web.UpdateMessageContext(ctx, s.at.Channel, id, slack.MsgOptionText(text, false))
	return err
}

// toHost sends what is meant for Discord elsewhere.
type toHost struct {
	host string
	http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h toHost) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = "http", h.host, h.host
	return h.RoundTripper.RoundTrip(r)
}

func (b bare) discord(ctx context.Context, api string) error {
	u, err := url.Parse(api)
	if err != nil {
		return err
	}
	s, err := discordgo.New("Bot " + os.Getenv("BARE_BOT"))
	if err != nil {
		return err
	}
	s.Client = &http.Client{Transport: toHost{u.Host, &http.Transport{MaxIdleConnsPerHost: 64}}}
	s.Identify.Intents = discordgo.IntentsDirectMessages
	s.AddHandler(func(s *discordgo.Session, m *discordgo.MessageCreate) {
		if m.Author.Bot {
			return
		}
		if err := b.kept.keep("event "+m.ID, m.Content); err != nil {
			log.Print(err)
			return
		}
		b.turn(ctx, bareDiscord{s, m.ChannelID}, m.ID, m.Content)
	})
	if err := s.Open(); err != nil {
		return err
	}
	<-ctx.Done()
	return s.Close()
}

type bareDiscord struct {
	s       *discordgo.Session
	channel string
}

func (d bareDiscord) post(_ context.Context, text string) (string, error) {
	m, err := d.s.ChannelMessageSend(d.channel, text)
	if err != nil {
		return "", err
	}
	return m.ID, nil
}

func (d bareDiscord) edit(_ context.Context, id, text string) error {
	_, err := d.s.ChannelMessageEdit(d.channel, id, text)
	return err
}
