package wangtimer;

import wangtimer.client.ApiClient;
import wangtimer.client.api.TimersApi;
import wangtimer.client.model.ListedTimers;
import wangtimer.client.model.NewTimerBody;
import wangtimer.client.model.Schedule;
import wangtimer.client.model.ShownTimer;
import wangtimer.client.model.SwitchedOffTimer;
import wangtimer.client.model.Target;

/** Makes, finds and cancels a timer of the service at the URL it is given; prints the timer's id. */
public final class MakeFindCancel {
    public static void main(String[] arguments) throws Exception {
        TimersApi timers = new TimersApi(new ApiClient().setBasePath(arguments[0]));
        String app = "shop", which = "key:from-java";
        NewTimerBody wanted = new NewTimerBody()
                .key("from-java")
                .schedule(new Schedule().delay("30m"))
                .target(new Target().url("http://localhost:9/expire"));
        ShownTimer found;
        Long id = timers.v1CreateTimer(wanted, app, "from-java").getId();
        found = timers.v1GetTimer(which, app);
        ListedTimers listed = timers.v1ListTimers(app, "from-java", null, null, null, null, null, null, null, null);
        if (!found.getId().equals(id) || listed.getItems().size() != 1 || !listed.getItems().get(0).getId().equals(id)
                || found.getStatus() != ShownTimer.StatusEnum.ENABLED) {
            throw new IllegalStateException("made " + id + ", found " + found + ", listed " + listed);
        }
        SwitchedOffTimer off = timers.v1DisableTimer(which, app, null, null);
        if (off.getTimer().getStatus() != ShownTimer.StatusEnum.DISABLED) {
            throw new IllegalStateException("it is " + off.getTimer().getStatus());
        }
        System.out.println(id);
        // The client's threads go on for a while.
        System.exit(0);
    }
}
