from dtrain_lab.head.app import main

if __name__ == "__main__":
    main()
