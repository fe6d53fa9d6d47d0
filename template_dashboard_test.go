package triad_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// dashboard: the page shows every queue and every function, and what the index
// costs beside the table.
func dashboard(ts templates) (f faults) {
	var body struct {
		Widgets []struct {
			Properties struct {
				Title   string
				Metrics [][]any
			}
		}
	}
	text := fmt.Sprint(at(ts[boardFile], "Resources", "Dashboard", "Properties", "DashboardBody", "Fn::Sub"))
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		f.add("%s: the body is no JSON: %v", boardFile, err)
		return f
	}
	shown := map[string]bool{}
	for _, w := range body.Widgets {
		var before []string
		for _, m := range w.Properties.Metrics {
			before = metricAfter(before, m)
			if len(before) < 4 || len(before)%2 != 0 || slices.Contains(before, "") {
				f.add("%s: %q has the metric %v, which is no namespace, name and dimensions", boardFile, w.Properties.Title, before)
			}
			shown[strings.Join(before, " ")] = true
		}
	}
	var want []string
	for _, q := range ts.stacks(queueFile) {
		for _, metric := range []string{"ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"} {
			want = append(want, "AWS/SQS "+metric+" QueueName ${Stack}-"+afterStack(q["Name"]))
		}
	}
	for _, fn := range ts.functions() {
		for _, metric := range []string{"Invocations", "Duration"} {
			want = append(want, "AWS/Lambda "+metric+" FunctionName ${Stack}-"+fn.name)
		}
	}
	want = append(want, "Triad Sweeps Stack ${Stack} Function supervisor",
		"AWS/DynamoDB ConsumedWriteCapacityUnits TableName ${Tasks}",
		"AWS/DynamoDB ConsumedWriteCapacityUnits TableName ${Tasks} GlobalSecondaryIndexName CompleteBy")
	for _, metric := range want {
		if !shown[metric] {
			f.add("%s does not show %s", boardFile, metric)
		}
	}
	return f
}

// metricAfter is a metric of a widget, written out: "." stands for the word of the
// metric before it in the same place, "..." for all of its words but those that
// are given here. Options at its end are left out.
func metricAfter(before []string, metric []any) (words []string) {
	for i, v := range metric {
		word, is := v.(string)
		switch {
		case !is:
		case word == "..." && i == 0:
			given := 0
			for _, v := range metric[1:] {
				if _, is := v.(string); is {
					given++
				}
			}
			words = slices.Clone(before[:max(0, len(before)-given)])
		case word == "." && i < len(before):
			words = append(words, before[i])
		default:
			words = append(words, word)
		}
	}
	return words
}
