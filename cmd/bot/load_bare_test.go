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
// tool, and answers. It stores nothing, limits nothing and tries nothing again.
func bareLoop() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg := openai.DefaultConfig("k")
	cfg.BaseURL = os.Getenv("BARE_LLM")
	cfg.HTTPClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b := bare{openai.NewClientWithConfig(cfg)}
	var err error
	if api := os.Getenv("BARE_SLACK"); api != "" {
		err = b.slack(ctx, api)
	} else {
		err = b.discord(ctx, os.Getenv("BARE_DISCORD"))
	}
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

type bare struct{ model *openai.Client }

// clockTool is what the model is offered.
var clockTool = openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
	Name: "clock", Description: "Tells the time.", Parameters: map[string]any{"type": "object", "properties": map[string]any{}},
}}

// answer calls the model until it calls no tool any more.
func (b bare) answer(ctx context.Context, text string) (string, error) {
	messages := []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: "You are a helpful colleague."}, {Role: openai.ChatMessageRoleUser, Content: text},
	}
	for {
		resp, err := b.model.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: "m", Messages: messages, Tools: []openai.Tool{clockTool}})
		if err != nil {
			return "", err
		}
		m := resp.Choices[0].Message
		if len(m.ToolCalls) == 0 {
			return m.Content, nil
		}
		for i := range m.ToolCalls {
			m.ToolCalls[i].ID = fmt.Sprintf("call%05d", i) // as strict servers want it
		}
		messages = append(messages, m)
		for _, c := range m.ToolCalls {
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
			_ = socket.Ack(*e.Request)
			outer, _ := e.Data.(slackevents.EventsAPIEvent)
			m, ok := outer.InnerEvent.Data.(*slackevents.MessageEvent)
			if !ok || m.BotID != "" || m.SubType != "" {
				continue
			}
			go func() {
				text, err := b.answer(ctx, m.Text)
				if err == nil {
					_, _, err = web.PostMessageContext(ctx, m.Channel, slack.MsgOptionText(text, false), slack.MsgOptionTS(m.TimeStamp))
				}
				if err != nil {
					log.Print(err)
				}
			}()
		}
	}()
	return socket.RunContext(ctx)
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
		text, err := b.answer(ctx, m.Content)
		if err == nil {
			_, err = s.ChannelMessageSend(m.ChannelID, text)
		}
		if err != nil {
			log.Print(err)
		}
	})
	if err := s.Open(); err != nil {
		return err
	}
	<-ctx.Done()
	return s.Close()
}
