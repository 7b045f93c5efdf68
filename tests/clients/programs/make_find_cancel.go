// Makes, finds and cancels a timer of the service at the URL it is given; prints the timer's id.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	wangtimer "github.com/wangtimer/client"
)

func main() {
	settings := wangtimer.NewConfiguration()
	settings.Servers = wangtimer.ServerConfigurations{{URL: os.Args[1]}}
	timers := wangtimer.NewAPIClient(settings).TimersAPI
	ctx, app, key := context.Background(), "shop", "key:from-go"

	schedule := wangtimer.NewSchedule()
	schedule.SetDelay("30m")
	wanted := wangtimer.NewNewTimerBody(*schedule, *wangtimer.NewTarget("http://localhost:9/expire"))
	wanted.SetKey("from-go")
	made, _, err := timers.V1CreateTimer(ctx).WangTimerApp(app).IdempotencyKey("from-go").NewTimerBody(*wanted).Execute()
	must(err)

	found, _, err := timers.V1GetTimer(ctx, key).WangTimerApp(app).Execute()
	must(err)
	listed, _, err := timers.V1ListTimers(ctx).WangTimerApp(app).Key("from-go").Execute()
	must(err)
	if found.Id != made.Id || len(listed.Items) != 1 || listed.Items[0].Id != made.Id || found.Status != "enabled" {
		log.Fatalf("made %v, found %v, listed %v", made.Id, found.Id, listed.Items)
	}

	off, _, err := timers.V1DisableTimer(ctx, key).WangTimerApp(app).Execute()
	must(err)
	if off.Timer.Status != "disabled" {
		log.Fatalf("it is %v", off.Timer.Status)
	}
	fmt.Println(made.Id)
}

func must(err error) {
	if problem, ok := err.(*wangtimer.GenericOpenAPIError); ok {
		log.Fatalf("%v: %s", err, problem.Body())
	}
	if err != nil {
		log.Fatal(err)
	}
}
