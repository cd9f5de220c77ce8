"""The viewer node: shows robots in a browser, and sends the requests of people to controller and simulator."""
