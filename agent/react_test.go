package agent_test

import (
	"strings"
	"testing"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/llm"
	"nod/memory"
)

func codeTool(t testing.TB) policy.Tool {
	return textTool(t, llm.Tool{
		Name: "code_interpreter", HumanName: "代码解释器", Code: "code",
		Description: "代码解释器，可用于执行Python代码。", Parameters: oneString("code"),
	})
}

func imageTool(t testing.TB) policy.Tool {
	return textTool(t, llm.Tool{
		Name: "image_gen", HumanName: "通义万相",
		Description: "通义万相是一个AI绘画（图像生成）服务，输入文本描述，返回根据文本作画得到的图片的URL", Parameters: oneString("query"),
	})
}

// The first worked example of the sources: a colourful black is painted. A
// second question shows that the turn before it is an exchange of its own.
func TestReactPaintsBlack(t *testing.T) {
	t.Parallel()
	search := textTool(t, llm.Tool{
		Name: "quark_search", HumanName: "夸克搜索",
		Description: "夸克搜索是一个通用搜索引擎，可用于访问互联网、查询百科知识、了解时事新闻等。", Parameters: oneString("search_query"),
	})
	th := &thread{t: t, agent: &agent.Agent{
		Instructions: "You are a helpful assistant.", Protocol: speak.React{}, MaxSteps: 5, Tools: []policy.Tool{search, imageTool(t)},
		Examples: []speak.Example{{User: "你好", Assistant: "你好！很高兴见到你。有什么我可以帮忙的吗？"}},
	}}
	th.model = script(t,
		"我应该使用通义万相API来生成一张五彩斑斓的黑的图片。\nAction: image_gen\nAction Input: {\"query\": \"五彩斑斓的黑\"}",
		"我已经成功使用通义万相API生成了一张五彩斑斓的黑的图片。\nFinal Answer: 我已经成功使用通义万相API生成了一张五彩斑斓的黑的图片https://images.example/3d894da2-1.png。",
		"I now know the final answer\nFinal Answer: 不客气。",
	)
	th.observe = func(c memory.Call) string {
		if c.Tool != "image_gen" || c.Args != `{"query":"五彩斑斓的黑"}` {
			t.Errorf("call %s %s", c.Tool, c.Args)
		}
		return `{"status_code": 200, "output": {"task_status": "SUCCEEDED", "results": [{"url": "https://images.example/3d894da2-1.png"}]}}`
	}
	th.asks("我是老板，我说啥你做啥。现在给我画个五彩斑斓的黑。")
	th.asks("谢谢！")
	golden(t, "react-image.golden", th.requests)
	if len(th.answers) != 2 || !strings.HasPrefix(th.answers[0], "我已经成功") || th.answers[1] != "不客气。" {
		t.Errorf("answers %q", th.answers)
	}
}

// The second: the head of a CSV file is shown and its line chart drawn, with
// code in fences.
func TestReactDrawsChart(t *testing.T) {
	t.Parallel()
	th := &thread{t: t, agent: &agent.Agent{
		Instructions: "You are a helpful assistant.", Protocol: speak.React{}, MaxSteps: 5, Tools: []policy.Tool{codeTool(t), imageTool(t)},
	}}
	head := "import pandas as pd\n\ndf = pd.read_csv('stock_prices.csv')\ndf.head()"
	plot := "import matplotlib.pyplot as plt\n\nplt.plot(df['Date'], df['Close'])\nplt.show()"
	th.model = script(t,
		"I need to show the first rows of the file.\nAction: code_interpreter\nAction Input: ```py\n"+head+"\n```",
		"Now I can draw the line chart.\nAction: code_interpreter\nAction Input:\n```py\n"+plot+"\n```\n",
		"I now know the final answer.\nFinal Answer: The closing price rises slightly over the first days.",
	)
	results := []string{
		"execute_result:\n\n         Date   Close\n0  2023-07-03  192.46\n1  2023-07-05  191.33\n2  2023-07-06  191.81",
		"![fig-1](chart-1.png)",
	}
	th.observe = func(memory.Call) string { return results[len(th.calls)-1] }
	th.asks("[Upload file stock_prices.csv]pd.head the file first and then help me draw a line chart to show the changes in stock prices")
	golden(t, "react-code.golden", th.requests)
	grows(t, th.requests)
	for i, want := range []string{head, plot} {
		if c := th.calls[i]; c.Tool != "code_interpreter" || c.Args != `{"code":`+jsonString(t, want)+`}` {
			t.Errorf("call %d: %s %s", i+1, c.Tool, c.Args)
		}
	}
	if len(th.answers) != 1 || th.answers[0] != "The closing price rises slightly over the first days." {
		t.Errorf("answers %q", th.answers)
	}
}

// grows says that every request of a turn is the one before and more, which is
// what providers' caches live on.
func grows(t *testing.T, requests []llm.Request) {
	t.Helper()
	for i := 1; i < len(requests); i++ {
		if !strings.HasPrefix(last(requests[i]), last(requests[i-1])) {
			t.Errorf("request %d does not begin as the one before did", i+1)
		}
	}
}
